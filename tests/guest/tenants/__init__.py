# SPDX-License-Identifier: GPL-2.0-or-later
"""The experiment of the HostVLAN paper (section 5.1): three hosts, seven VMs, three tenants.

``voice`` runs in the guests, ``bed`` is the network with the hosts, ``judge``
says what of that which arrived was not to arrive.
"""
