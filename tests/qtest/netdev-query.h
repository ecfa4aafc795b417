/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies of QMP about a netdev, for qtests */
#ifndef TESTS_QTEST_NETDEV_QUERY_H
#define TESTS_QTEST_NETDEV_QUERY_H

#include "qobject/qdict.h"
#include "tests/qtest/libqtest.h"

/*
 * The only element of the list that @command, "query-mip6" or such, returns of
 * the netdev @id; the caller's to unref.
 */
QDict *netdev_query(QTestState *qts, const char *command, const char *id);

#endif /* TESTS_QTEST_NETDEV_QUERY_H */
