# SPDX-License-Identifier: GPL-2.0-or-later
"""A VM for untrusted code, what it tries to get out, and who sees it."""
