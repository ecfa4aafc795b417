/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error messages about a file, with the line */
#include <errno.h>

#include "ha/base/mistake.h"

bool mip6_ha_mistake(GError **errp, const char *file, unsigned line,
                     const char *format, ...)
{
    GQuark quark = g_quark_from_static_string("mip6-ha-mistake");
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    if (!file) {
        g_set_error_literal(errp, quark, EINVAL, text);
    } else if (line) {
        g_set_error(errp, quark, EINVAL, "%s:%u: %s", file, line, text);
    } else {
        g_set_error(errp, quark, EINVAL, "%s: %s", file, text);
    }
    return false;
}
