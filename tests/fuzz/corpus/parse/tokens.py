# -*- coding: utf-8 -*-
"""Doc
string."""
A = 0x_fF + 0b1 + 0o17 + 1_000; B = 'a\x41\u00e9\
b' r"\n" "c"
C = [i ** 2 for i in range(10) if i not in (1, 2)
     for j in (i,)]
D = {**{}} if A else lambda x: f"{x}"
while 1:
	pass
