/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/config: values of right files, and the messages for wrong ones */
#include <glib.h>
#include <string.h>

#include "base/config.h"

typedef struct Item {
    const char *name;
    uint32_t weight;
} Item;

typedef struct Shop {
    const char *owner, *folder;
    bool open;
    Item *item;
    size_t items;
} Shop;

static const ConfigKey item_keys[] = {
    { .name = "name", .read = config_read_text, .max = 8,
      .offset = offsetof(Item, name), .right = "a name" },
    { .name = "weight", .read = config_read_number, .min = 1, .max = 9,
      .offset = offsetof(Item, weight), .right = "a number from 1 to 9" },
    { 0 },
};

static void read_item(ConfigReader *r, const yaml_node_t *node,
                      const ConfigKey *key, void *to)
{
    unsigned before = r->errors->count;
    Item *item = to;

    config_map(r, node, item_keys, item);
    if (r->errors->count == before && !item->name) {
        config_say(r, node, "an item has no name");
    }
}

static void read_items(ConfigReader *r, const yaml_node_t *node,
                       const ConfigKey *key, void *to)
{
    Shop *shop = r->whole;

    shop->item = config_list(r, node, key, sizeof(*shop->item), 2, read_item,
                             &shop->items);
}

static const ConfigKey keys[] = {
    { .name = "owner", .read = config_read_text, .max = 8,
      .offset = offsetof(Shop, owner), .right = "a name" },
    { .name = "folder", .read = config_read_path,
      .offset = offsetof(Shop, folder), .right = "an absolute path" },
    { .name = "open", .read = config_read_switch,
      .offset = offsetof(Shop, open), .right = "'on' or 'off'" },
    { .name = "items", .read = read_items, .right = "a list of 2 items" },
    { 0 },
};

typedef struct Fixture {
    Shop shop;
    ConfigMemory *memory;
    ConfigErrors errors;
} Fixture;

static bool read_text(Fixture *f, const char *text)
{
    ConfigReader r = {
        .path = "f.yaml", .whole = &f->shop, .memory = &f->memory,
        .errors = &f->errors,
    };

    return config_read(&r, text, strlen(text), keys, &f->shop);
}

static void test_right(void)
{
    Fixture f = { .shop = { .owner = "ann", .open = true } };

    g_assert_true(read_text(&f, ""));
    g_assert_cmpstr(f.shop.owner, ==, "ann");
    g_assert_true(f.shop.open);
    g_assert_true(read_text(&f, "folder: /a\nopen: off\nitems:\n"
                                "- {name: pear, weight: 9}\n- name: fig\n"));
    g_assert_cmpstr(f.shop.owner, ==, "ann");
    g_assert_cmpstr(f.shop.folder, ==, "/a");
    g_assert_false(f.shop.open);
    g_assert_cmpuint(f.shop.items, ==, 2);
    g_assert_cmpstr(f.shop.item[0].name, ==, "pear");
    g_assert_cmpuint(f.shop.item[0].weight, ==, 9);
    g_assert_cmpstr(f.shop.item[1].name, ==, "fig");
    g_assert_true(read_text(&f, "owner: No\nopen: YES\n"));
    g_assert_null(f.shop.owner);
    g_assert_true(f.shop.open);
    config_memory_free(f.memory);
}

static void test_wrong(void)
{
    static const struct {
        const char *text, *told;
        unsigned count;
    } cases[] = {
        { "onwer: ann", "f.yaml:1:1: 'onwer' is no key here; the nearest is "
          "'owner'", 1 },
        { "owner: far-too-long\nfolder: a", "f.yaml:1:8: owner: "
          "'far-too-long' is too long; right is a name\nf.yaml:2:9: folder: "
          "'a' is no absolute path; right is an absolute path", 2 },
        { "owner: ''", "f.yaml:1:8: owner: '' is empty; right is a name", 1 },
        { "owner: \"a\\0b\"", "f.yaml:1:8: owner: 'a' has a NUL; right is a "
          "name", 1 },
        { "owner: a\nowner: b", "f.yaml:2:1: owner: 'owner' is here twice; "
          "right is once", 1 },
        { "open: {}", "f.yaml:1:7: open: a map is no value; right is 'on' or "
          "'off'", 1 },
        { "items: {}", "f.yaml:1:8: items: a map is no list; right is a list "
          "of 2 items", 1 },
        { "items: [{name: a}, {name: b}, {name: c}]", "f.yaml:1:8: items: a "
          "list is too long; right is a list of 2 items", 1 },
        { "items:\n- name: a\n  weigth: 1\n- weight: 10\n- 7", "f.yaml:2:1: "
          "items: a list is too long; right is a list of 2 items", 1 },
        { "items:\n- name: a\n  weigth: 1\n- weight: 10", "f.yaml:3:3: "
          "items[0]: 'weigth' is no key here; the nearest is 'weight'\n"
          "f.yaml:4:11: items[1].weight: '10' is out of range; right is a "
          "number from 1 to 9", 2 },
        { "items: [{weight: 1}]", "f.yaml:1:9: an item has no name", 1 },
        { "- a", "f.yaml:1:1: a list is no map; right is 'key: value' in "
          "each line", 1 },
        { "owner: [", "f.yaml:2:1: no YAML: did not find expected node content "
          "while parsing a flow node", 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Fixture f = { .errors = { .count = 7 } };

        g_assert_false(read_text(&f, cases[i].text));
        g_assert_cmpstr(f.errors.text, ==, cases[i].told);
        g_assert_cmpuint(f.errors.count, ==, cases[i].count);
        config_memory_free(f.memory);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/config/right", test_right);
    g_test_add_func("/base/config/wrong", test_wrong);
    return g_test_run();
}
