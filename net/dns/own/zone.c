/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zone image that is read into memory, for a VM */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/dns/own/zone.h"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("dns-own-zone-error");
}

static bool read_all(int fd, uint8_t *to, size_t len, GError **errp)
{
    for (size_t done = 0; done < len; ) {
        ssize_t n = read(fd, to + done, len - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            g_set_error(errp, error_quark(), n ? errno : EIO,
                        "%s after %zu octets of %zu",
                        n ? g_strerror(errno) : "the file ends", done, len);
            return false;
        }
        done += n;
    }
    return true;
}

/* The size of a file that can be read; 0, and @errp is set, if not. */
static size_t size_of(int fd, GError **errp)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        g_set_error(errp, error_quark(), errno, "%s", g_strerror(errno));
        return 0;
    }
    if (!S_ISREG(st.st_mode)) {
        g_set_error(errp, error_quark(), EINVAL, "this is no regular file");
        return 0;
    }
    if (!st.st_size || st.st_size > DNS_OWN_ZONE_SIZE_MAX) {
        g_set_error(errp, error_quark(), EFBIG, "the file has %jd octets; an "
                    "image has some, and at most %d to be served to a guest",
                    (intmax_t)st.st_size, DNS_OWN_ZONE_SIZE_MAX);
        return 0;
    }
    return st.st_size;
}

/* Allocate memory for @zone and read a file into it. */
static bool fill(DnsOwnZone *zone, const char *path, GError **errp)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = false;
    size_t len;

    if (fd < 0) {
        g_set_error(errp, error_quark(), errno, "%s", g_strerror(errno));
        return false;
    }
    len = size_of(fd, errp);
    if (!len) {
        goto out;
    }
    zone->memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zone->memory == MAP_FAILED) {
        zone->memory = NULL;
        g_set_error(errp, error_quark(), ENOMEM, "no memory for %zu octets",
                    len);
        goto out;
    }
    zone->len = len;
    ok = read_all(fd, zone->memory, len, errp);
out:
    close(fd);
    return ok;
}

static bool check(DnsOwnZone *zone, GError **errp)
{
    ZoneFault fault;

    zone->image = zone_image_open(zone->memory, zone->len, &fault);
    if (!zone->image || !zone_image_check_pages(zone->image, &fault)) {
        g_set_error(errp, error_quark(), EINVAL,
                    "%s at offset %" PRIu64 ": %s", fault.where, fault.offset,
                    fault.what);
        return false;
    }
    if (zone->image->rrclass != DNS_CLASS_IN) {
        g_set_error(errp, error_quark(), EINVAL,
                    "the zone's class is %u, a guest asks for IN",
                    zone->image->rrclass);
        return false;
    }
    if (zone->image->flags & ZONE_IS_DELTA) {
        g_set_error(errp, error_quark(), EINVAL,
                    "these are changes to a zone and no whole one");
        return false;
    }
    return true;
}

DnsOwnZone *dns_own_zone_read(const char *path, GError **errp)
{
    DnsOwnZone *zone = g_new0(DnsOwnZone, 1);

    if (!fill(zone, path, errp) || !check(zone, errp)) {
        dns_own_zone_free(zone);
        return NULL;
    }
    return zone;
}

void dns_own_zone_free(DnsOwnZone *zone)
{
    if (!zone) {
        return;
    }
    zone_image_free(zone->image);
    if (zone->memory) {
        munmap(zone->memory, zone->len);
    }
    g_free(zone);
}
