# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that several rooms read from text, and their complaints."""
