# SPDX-License-Identifier: GPL-2.0-or-later
"""Every number that vmmnet claims, beside its peer, in one run."""
