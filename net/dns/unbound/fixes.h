/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the libunbound of this system has its security fixes */

#ifndef VMMNET_DNS_UNBOUND_FIXES_H
#define VMMNET_DNS_UNBOUND_FIXES_H

#include <stdbool.h>
#include <stddef.h>

/* Octets for a warning and for a version */
#define DNSC_WARNING_MAX    256
#define DNSC_VERSION_MAX    64

/*
 * Whether a library is known to lack the fixes.
 *
 * @version: of the library, such as "1.17.1".
 * @package: of Debian's package, such as "1.17.1-2+deb12u4"; empty: it is of
 *           no package.  Debian gives fixes to old versions, too, and others
 *           may: a package that is not known to lack them is taken to have
 *           them.
 */
bool dnsc_unbound_lacks_fixes(const char *version, const char *package);

/*
 * Read the version of Debian's package libunbound8 from dpkg's list, such as
 * /var/lib/dpkg/status.
 *
 * @package: DNSC_VERSION_MAX octets; empty if the list does not have it, or
 *           does not exist.
 *
 * Returns: false if the list cannot be read.
 */
bool dnsc_unbound_package(const char *list, char *package);

/*
 * Write a line that tells of the missing fixes of this system's libunbound.
 *
 * @text: DNSC_WARNING_MAX octets.
 *
 * Returns: false if there is no libunbound, or nothing to tell.
 */
bool dnsc_unbound_warning(char *text);

#endif
