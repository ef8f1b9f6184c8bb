"""What the front ends share that people read: words, rows, and the threads that work is done on."""
