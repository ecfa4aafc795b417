# SPDX-License-Identifier: GPL-2.0-or-later
"""Zones below ``vm.example``, valid and invalid, signed by BIND's tools and by ldns.

signing.py    keys and signed zones of both makers, as records
states.py     a zone in one state: published keys, signing keys, keys with DS in the parent
zones.py      all zones
spoiler.py    an attacker between the server and the client
bed.py        the server, the attacker and the client on one host
"""
