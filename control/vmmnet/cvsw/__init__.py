# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller of CVSW: switches in NICs, driven through a virtual switch."""
