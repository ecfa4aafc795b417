/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First process of a test guest: assemble the root file system, then become
 * the agent.
 *
 * Theory of operation
 *
 * The initramfs has this program as /init, kernel modules with their order in
 * /modules, and below /overlay the files that this one boot adds to the image.
 * The image is on the disk with the serial disk0, else on /dev/vda; the modules
 * of the guest's kernel are on disk1 or /dev/vdb.  A tmpfs over the image takes what the guest writes.
 *
 * Under TCG each new process costs the guest a tenth of a second.  A script
 * would start thirty, this program starts none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OVERLAY "/overlay"
#define NEW "/new"
#define AGENT "/sbin/vmmnet-agent"
#define DISK_TRIES 5000
#define RETRY_US 20000
#define OPEN_FOLDERS 16

static void die(const char *what)
{
    fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void mount_at(const char *type, const char *place, const char *options)
{
    if (mount(type, place, type, 0, options)) {
        die(place);
    }
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0755) && errno != EEXIST) {
        die(path);
    }
}

static void load_module(const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || syscall(SYS_finit_module, fd, "", 0)) {
        fprintf(stderr, "init: cannot load %s: %s\n", file, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void load_modules(void)
{
    FILE *list = fopen("/modules", "re");
    char line[256];

    if (!list) {
        die("/modules");
    }
    while (fgets(line, sizeof(line), list)) {
        line[strcspn(line, "\n")] = '\0';
        load_module(line);
    }
    fclose(list);
}

/* Whether a disk has a serial, or none and the usual name. */
static bool is_disk(const char *name, const char *serial, const char *usual)
{
    char path[64], found[32] = "";
    FILE *file;
    bool is_there;

    snprintf(path, sizeof(path), "/sys/block/%s/serial", name);
    file = fopen(path, "re");
    if (!file) {
        return false;
    }
    is_there = fgets(found, sizeof(found), file) != NULL;
    fclose(file);
    return (is_there && !strcmp(found, serial)) ||
           (!found[0] && !strcmp(name, usual));
}

/*
 * Drivers may probe asynchronously: a disk comes when it comes.  Names follow
 * the order of transports, which -machine virt hands out from the last one, so
 * the test bed gives serials; a domain of libvirt has none.
 */
static void mount_disk(const char *serial, const char *usual,
                       const char *place)
{
    char name[] = "vda", disk[] = "/dev/vda";

    for (int tries = 0; tries < DISK_TRIES; tries++) {
        for (char letter = 'a'; letter <= 'h'; letter++) {
            name[2] = disk[7] = letter;
            if (is_disk(name, serial, usual) &&
                !mount(disk, place, "squashfs", MS_RDONLY, NULL)) {
                return;
            }
        }
        usleep(RETRY_US);
    }
    die(serial);
}

static void mount_root(void)
{
    make_folder("/image");
    make_folder("/upper");
    make_folder(NEW);
    make_folder("/sys");
    mount_at("sysfs", "/sys", NULL);
    mount_disk("disk0", "vda", "/image");
    mount_at("tmpfs", "/upper", NULL);
    make_folder("/upper/data");
    make_folder("/upper/work");
    mount_at("overlay", NEW,
             "lowerdir=/image,upperdir=/upper/data,workdir=/upper/work");
    make_folder(NEW "/usr/lib/modules");
    mount_disk("disk1", "vdb", NEW "/usr/lib/modules");
    if (umount("/sys")) {
        die("/sys");
    }
}

static void mount_rest(void)
{
    /* There is no udev to make these. */
    static const char *const links[][2] = {
        { "/proc/self/fd", NEW "/dev/fd" },
        { "/proc/self/fd/0", NEW "/dev/stdin" },
        { "/proc/self/fd/1", NEW "/dev/stdout" },
        { "/proc/self/fd/2", NEW "/dev/stderr" },
    };

    if (mount("/dev", NEW "/dev", NULL, MS_MOVE, NULL)) {
        die(NEW "/dev");
    }
    mount_at("proc", NEW "/proc", NULL);
    mount_at("sysfs", NEW "/sys", NULL);
    mount_at("tmpfs", NEW "/run", NULL);
    mount_at("tmpfs", NEW "/tmp", NULL);
    make_folder(NEW "/dev/pts");
    make_folder(NEW "/dev/shm");
    make_folder(NEW "/run/lock");
    mount_at("devpts", NEW "/dev/pts", NULL);
    mount_at("tmpfs", NEW "/dev/shm", NULL);
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (symlink(links[i][0], links[i][1])) {
            die(links[i][1]);
        }
    }
}

/* Copies the data of a regular file, and its time of change. */
static void copy_file(const char *from, const char *to, const struct stat *st)
{
    const struct timespec times[2] = { st->st_mtim, st->st_mtim };
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out;

    /* A new file must not change what a link of the image leads to. */
    unlink(to);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (in < 0 || out < 0) {
        die(to);
    }
    for (off_t left = st->st_size; left > 0;) {
        ssize_t n = sendfile(out, in, NULL, left);
        if (n <= 0) {
            die(to);
        }
        left -= n;
    }
    if (fchmod(out, st->st_mode & 07777) || futimens(out, times)) {
        die(to);
    }
    close(in);
    close(out);
}

/* nftw() calls this for each file and folder below OVERLAY. */
static int copy_one(const char *path, const struct stat *st, int type,
                    struct FTW *where)
{
    char to[4096];

    snprintf(to, sizeof(to), NEW "%s", path + strlen(OVERLAY));
    if (type == FTW_F) {
        copy_file(path, to, st);
    } else if (where->level) {
        make_folder(to);
        if (chmod(to, st->st_mode & 07777)) {
            die(to);
        }
    }
    return 0;
}

static void bring_loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request)) {
        die("lo");
    }
    close(fd);
}

static void set_host_name(void)
{
    FILE *file = fopen(NEW "/etc/hostname", "re");
    char name[65] = "";

    if (!file || !fgets(name, sizeof(name), file)) {
        die("/etc/hostname");
    }
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    if (sethostname(name, strlen(name))) {
        die(name);
    }
}

/* nftw() calls this for each file and folder of the initramfs, folders last. */
static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where)
{
    /* A folder with a mount stays. */
    remove(path);
    return 0;
}

static void switch_root(void)
{
    nftw("/", remove_one, OPEN_FOLDERS, FTW_PHYS | FTW_MOUNT | FTW_DEPTH);
    if (chdir(NEW) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") ||
        chdir("/")) {
        die("root");
    }
}

int main(void)
{
    mount_at("devtmpfs", "/dev", NULL);
    load_modules();
    mount_root();
    mount_rest();
    if (nftw(OVERLAY, copy_one, OPEN_FOLDERS, FTW_PHYS)) {
        die(OVERLAY);
    }
    bring_loopback_up();
    set_host_name();
    switch_root();
    execl(AGENT, AGENT, NULL);
    die(AGENT);
}
