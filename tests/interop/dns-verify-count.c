/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signatures that libunbound verifies, counted: preloaded into a program
 *
 * The number is written to the file that the environment names as VERIFIED
 * when the program ends.  libunbound calls nettle or OpenSSL, which does the
 * work.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "dns-verify-count.h"

static unsigned long verified;

static void __attribute__((destructor)) tell(void)
{
    const char *path = getenv("VERIFIED");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (file) {
        fprintf(file, "%lu\n", verified);
        fclose(file);
    }
}

static void *next(const char *library, const char *name)
{
    /* The client library has loaded it for libunbound alone. */
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void *found = loaded ? dlsym(loaded, name) : NULL;

    if (!found) {
        fprintf(stderr, "%s has no %s\n", library, name);
        abort();
    }
    verified++;
    return found;
}

int nettle_ecdsa_verify(const void *key, size_t len, const void *digest,
                        const void *signature)
{
    int (*verify)(const void *, size_t, const void *, const void *) =
        next("libhogweed.so.6", __func__);

    return verify(key, len, digest, signature);
}

int nettle_rsa_sha256_verify_digest(const void *key, const void *digest,
                                    const void *signature)
{
    int (*verify)(const void *, const void *, const void *) = next("libhogweed.so.6", __func__);

    return verify(key, digest, signature);
}

int EVP_DigestVerify(void *context, const unsigned char *signature,
                     size_t signature_len, const unsigned char *data,
                     size_t len)
{
    int (*verify)(void *, const unsigned char *, size_t,
                  const unsigned char *, size_t) =
        next("libcrypto.so.3", __func__);

    return verify(context, signature, signature_len, data, len);
}
