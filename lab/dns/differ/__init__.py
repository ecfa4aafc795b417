# SPDX-License-Identifier: GPL-2.0-or-later
"""The same zones and questions for vmmnet-dnsd, BIND, NSD and Knot, and what they differ in.

zones.py        a zone, as text, and signed
mixed.py        one made at random
shapes.py       what chance does not bring: chains, sizes, depths, rare types
registry.py     one in the shape of a top level domain
neighbours.py   others of the same servers
servers.py      the four, in one namespace
questions.py    questions made at random, as messages
replies.py      a reply, apart from what no client looks at
differences.py  a difference, taken apart into facts
habits.py       which facts a habit of a server explains
proofs.py       the same of proofs with NSEC and NSEC3
rules.py        why that is right
faults.py       faults of ours, made up, to see which a rule hides
whole.py        a run, and its report
"""
