"""What prong itself keeps: state.db and the scan cache."""
