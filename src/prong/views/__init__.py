"""Values as people and scripts see them: JSON shapes, and rows of text."""
