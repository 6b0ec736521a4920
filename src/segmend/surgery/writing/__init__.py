"""What changes a disk: single system calls, and the safe ways to write, copy and move made of them."""
