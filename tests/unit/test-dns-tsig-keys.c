/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of TSIG keys, and the messages for wrong ones */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "dnsd/update/tsig/keys.h"

typedef struct Wrong {
    const char *text;
    const char *error;          /* how it begins */
} Wrong;

static int read_text(TsigKeys *keys, const char *text, TsigKeysError *error)
{
    *error = (TsigKeysError) { 0 };
    return tsig_keys_read(keys, text, strlen(text), error);
}

static void test_read(void)
{
    TsigKeys *keys = tsig_keys_new();
    TsigKeysError error;
    const TsigKey *key;
    DnsName name;
    int ret = read_text(keys,
        "# of tsig-keygen\n"
        "key \"Update.Example\" {\n"
        "\talgorithm HMAC-SHA256; // either order\n"
        "\tsecret \"MDEyMw==\";\n"
        "};\n"
        "/* a second\n one */ key b.{secret MDEy;algorithm "
        "hmac-sha512-256;};", &error);

    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(ret, ==, 0);
    dns_name_from_text(&name, "update.EXAMPLE.");
    key = tsig_keys_find(keys, &name);
    g_assert_nonnull(key);
    g_assert_cmpint(key->algorithm, ==, TSIG_HMAC_SHA256);
    g_assert_cmpuint(key->mac_len, ==, 32);
    g_assert_cmpmem(key->secret, key->secret_len, "0123", 4);
    dns_name_from_text(&name, "b");
    key = tsig_keys_find(keys, &name);
    g_assert_nonnull(key);
    g_assert_cmpint(key->algorithm, ==, TSIG_HMAC_SHA512);
    g_assert_cmpuint(key->mac_len, ==, 32);
    g_assert_cmpmem(key->secret, key->secret_len, "012", 3);
    dns_name_from_text(&name, "c");
    g_assert_null(tsig_keys_find(keys, &name));
    tsig_keys_free(keys);
}

static void test_wrong(void)
{
    static const Wrong wrong[] = {
        { "zone x { };", "line 1: a key begins with the word 'key'" },
        { "key { };", "line 1: the key needs a domain name" },
        { "key a\n{ algorithm hmac-md5; secret MDEy; };",
          "line 2: the algorithm must be hmac-sha1" },
        { "key a { algorithm hmac-sha256-64; secret MDEy; };",
          "line 1: the algorithm must be hmac-sha1" },
        { "key a { algorithm hmac-sha256; };",
          "line 1: the key has no secret" },
        { "key a { secret MDEy; };", "line 1: the key has no algorithm" },
        { "key a { secret MDE; };", "line 1: the secret is not base64" },
        { "key a { secret M=Ey; };", "line 1: the secret is not base64" },
        { "key a { secret \"\"; };", "line 1: the secret is not base64" },
        { "key a { secret MDEy\n};", "line 2: ';' is missing" },
        { "key a { secret \"MDEy\n", "line 1: a quote is not closed" },
        { "key a { secret MDEy; secret MDEy; };",
          "line 1: the key has a secret already" },
        { "key a { port 53; };",
          "line 1: a key has an algorithm and a secret, and nothing" },
        { "key a { algorithm hmac-sha1; secret MDEy; };\n"
          "key A. { algorithm hmac-sha1; secret MDEy; };",
          "line 2: there is a key of this name already" },
        { "key a {", "line 1: the key ends without '}'" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        TsigKeys *keys = tsig_keys_new();
        TsigKeysError error;

        g_assert_cmpint(read_text(keys, wrong[i].text, &error), ==, -EINVAL);
        if (!g_str_has_prefix(error.text, wrong[i].error)) {
            g_error("%s: \"%s\", not \"%s\"", wrong[i].text, error.text,
                    wrong[i].error);
        }
        tsig_keys_free(keys);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tsig-keys/read", test_read);
    g_test_add_func("/tsig-keys/wrong", test_wrong);
    return g_test_run();
}
