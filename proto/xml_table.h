/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short forms of xml_elem entries; T is the row's type where they are used. The tables
 * themselves are in .def files, one line per element.
 */
#ifndef PROTO_XML_TABLE_H
#define PROTO_XML_TABLE_H

#include <stddef.h>
#include "lib/xml.h"

#define X_ELEM(...)                                                                    \
	{                                                                              \
		__VA_ARGS__                                                            \
	}
#define X_FIELD(tag, kind, field, hi)                                                  \
	X_ELEM(.name = tag, .type = kind, .off = offsetof(T, field), .max = hi)
#define I32(tag, field)     X_FIELD(tag, XML_I32, field, 0)
#define I64(tag, field)     X_FIELD(tag, XML_I64, field, 0)
#define F64(tag, field)     X_FIELD(tag, XML_F64, field, 0)
#define BOOL(tag, field)    X_FIELD(tag, XML_BOOL, field, 0)
#define STR(tag, field, hi) X_FIELD(tag, XML_STR, field, hi) /* at most hi bytes */
#define TEXT(tag, field, hi)                                                           \
	X_FIELD(tag, XML_TEXT, field, hi) /* cut to hi characters */
/* A child element whose fields belong to the same row. */
#define GROUP(tag, table) X_ELEM(.name = tag, .type = XML_GROUP, .child = table)
#define GROUP_SEEN(tag, table, flag)                                                   \
	X_ELEM(.name = tag, .type = XML_GROUP, .child = table,                         \
	    .seen_off = offsetof(T, flag))
/* Repeated elements, at most hi of them, each a row in the struct xml_list field. */
#define ROWS(tag, field, hi, table, row) ROWS_DONE(tag, field, hi, table, row, NULL)
#define ROWS_DONE(tag, field, hi, table, row, call)                                    \
	X_ELEM(.name = tag, .type = XML_LIST, .off = offsetof(T, field), .max = hi,    \
	    .size = sizeof(row), .child = table, .done = call)
/* Fields with a bool that records whether the element occurred; its offset is not 0. */
#define F64_SEEN(tag, field, flag)                                                     \
	X_ELEM(.name = tag, .type = XML_F64, .off = offsetof(T, field),                \
	    .seen_off = offsetof(T, flag))
#define BOOL_SEEN(tag, field, flag)                                                    \
	X_ELEM(.name = tag, .type = XML_BOOL, .off = offsetof(T, field),               \
	    .seen_off = offsetof(T, flag))
#define STR_SEEN(tag, field, hi, flag)                                                 \
	X_ELEM(.name = tag, .type = XML_STR, .off = offsetof(T, field), .max = hi,     \
	    .seen_off = offsetof(T, flag))
#define I32_SEEN(tag, field, flag)                                                     \
	X_ELEM(.name = tag, .type = XML_I32, .off = offsetof(T, field),                \
	    .seen_off = offsetof(T, flag))
#define END X_ELEM(.name = NULL)

#endif
