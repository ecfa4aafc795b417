# SPDX-License-Identifier: GPL-2.0-or-later
"""Zones below ``vm.example``, signed by BIND's tools and by ldns, right and wrong, served by ours.

signing.py    keys and signed zones of both makers, as records
states.py     a zone in one state: which keys are published, which sign, which the parent names
zones.py      all zones
spoiler.py    an attacker between the server and the client
bed.py        the server, the attacker and the client on one host
"""
