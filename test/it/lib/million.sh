# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A project of many workunits, filled by SQL (test/bench/fill-million.sql), in the database of sql().

million_fill() { # WORKUNITS FILES BATCHES HOSTS USERS
	{
		cat "$source/db/schema.sql"
		sed "s/@WUS@/$1/g; s/@FILES@/$2/g; s/@BATCHES@/$3/g; s/@HOSTS@/$4/g; s/@USERS@/$5/g" "$source/test/bench/fill-million.sql"
	} | sql || exit 1
}
