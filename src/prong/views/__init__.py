"""JSON views and text rows of prong's data, shared by all front ends."""
