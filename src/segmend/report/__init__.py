"""Faces for people: text at a terminal (`text`, `style`, `table`, `progress`), one HTML file (`html`).

Given values, reads nothing. All that comes from a disk passes `text.clean` on its way out:
topic names, file names and record bytes are hostile input to a terminal.
"""
