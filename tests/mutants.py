"""One fault of tests/mutants.list put into a tree: mutants.py LIST ROOT NUMBER

Prints NAME, a tab and FILE; with NUMBER 0 only checks that every fault's text is in its
file exactly once, and prints how many faults there are.
"""
import re
import sys
from pathlib import Path


def faults(path):
    text = re.sub(r"^#.*\n", "", Path(path).read_text(), flags=re.M)
    found = re.findall(r"^= (.*): (\S+)\n- (.*)\n\+ (.*)\n", text, flags=re.M)
    if len(found) != text.count("\n= ") + text.startswith("= "):
        sys.exit(f"{path}: an entry is malformed")
    return found


def replaced(root, fault):
    name, file, old, new = fault
    text = (root / file).read_text()
    if text.count(old) != 1:
        sys.exit(f"{file} has this {text.count(old)} times, not once: {old}")
    return text.replace(old, new)


def main():
    found, root, number = faults(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    if number == 0:
        for fault in found:
            replaced(root, fault)
        print(len(found))
        return
    name, file = found[number - 1][:2]
    (root / file).write_text(replaced(root, found[number - 1]))
    print(f"{name}\t{file}")


main()
