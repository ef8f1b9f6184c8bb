"""Commands that set prong up."""
