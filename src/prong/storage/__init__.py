"""prong's own data: state.db and the scan cache."""
