"""The part of mpslint that runs in the user's Python, next to the script under test.

It needs the standard library and torch, nothing else, and uses relative imports only, so that the
folder can be copied anywhere and run as a package of any name::

    python -m mpslint.verify.harness --device mps train.py --epochs 1

Nothing here imports torch before the script does: environment variables that torch reads while it
is loaded keep the meaning that they have on real hardware.
"""
