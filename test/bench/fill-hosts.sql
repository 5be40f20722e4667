-- SPDX-License-Identifier: Apache-2.0
-- Rows of every project of the benchmark: @HOSTS@ hosts, each with its own account, and an app with a version.
-- The authenticator is the account's number, and so is the host's CPID (load_host.c).
INSERT INTO locus_schema (id, version, change_time) VALUES (1, @VERSION@, UNIX_TIMESTAMP());
INSERT INTO platform (id, create_time, name) VALUES (1, 1700000000, 'x86_64-pc-linux-gnu');
INSERT INTO app (id, create_time, name, user_friendly_name, locality_scheduling, target_nresults)
VALUES (1, 1700000000, 'search', 'Search', @LOCALITY@, 2), (2, 1700000000, 'plain', 'Plain', 0, 1);
INSERT INTO app_version (id, create_time, appid, version_num, platformid, xml_doc)
SELECT id, 1700000000, id, 100, 1, REPLACE('<file_info>
    <name>search_1.00_x86_64-pc-linux-gnu</name>
    <url>http://127.0.0.1/bench/download/search_1.00_x86_64-pc-linux-gnu</url>
    <executable/>
    <file_signature>
1dda79ea91f7c8ba584f121b419782b7291d0d1a6a0117509af7ece910f9d941
f33414e35e50dffb4a8b6d214f8ba5d1ff03fc5e07451f4e33bcaf9788d5bd6b
b8dcf0a3a8ea6bd86f99ad3acf1eed58b525e20812746f2c87026c2279d5eb39
ea372bb360ac78ddbe7dbdb242e6119c53aed313ca364a135757e1a53b474be4
.
    </file_signature>
    <nbytes>884064</nbytes>
</file_info>
<app_version>
    <app_name>search</app_name>
    <version_num>100</version_num>
<file_ref>
    <file_name>search_1.00_x86_64-pc-linux-gnu</file_name>
    <main_program/>
</file_ref>
</app_version>
', 'search', name) FROM app;
INSERT INTO user (id, create_time, email_addr, name, authenticator, passwd_hash, cross_project_id, global_prefs, project_prefs)
SELECT seq, 1700000000, CONCAT('user', seq, '@example.org'), CONCAT('user', seq), LPAD(seq, 32, '0'), MD5(seq),
    '929127fc8a3dbdd47561337fcf78fa96', '', '' FROM seq_1_to_@HOSTS@;
INSERT INTO host (id, create_time, userid, rpc_time, rpc_day, expavg_time, timezone, domain_name, last_ip_addr, nsame_ip_addr,
    on_frac, connected_frac, active_frac, gpu_active_frac, duration_correction_factor, p_ncpus, p_vendor, p_model, p_fpops, p_iops,
    p_membw, os_name, os_version, m_nbytes, m_cache, d_total, d_free, host_cpid)
SELECT seq, 1700000000, seq, UNIX_TIMESTAMP() - 90000, (UNIX_TIMESTAMP() - 90000) DIV 86400, 1700000000, 0,
    CONCAT('vm', seq), CONCAT_WS('.', 127, 1 + seq DIV 65536, seq DIV 256 MOD 256, seq MOD 256), 3, 1, -1, 1, 1, 1, 2, 'GenuineIntel',
    'Intel(R) Xeon(R) Processor [Family 6 Model 143 Stepping 8]', 1e9, 1e9, 1e9, 'Linux Debian',
    'Debian GNU/Linux 12 (bookworm) [6.18.44-fc-v445|libc 2.36]', 25274793984, 110100480, 270553174016, 80422641664,
    MD5(CONCAT(LPAD(seq, 32, '0'), 'user', seq, '@example.org')) FROM seq_1_to_@HOSTS@;
