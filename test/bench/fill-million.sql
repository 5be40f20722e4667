-- SPDX-License-Identifier: Apache-2.0
-- A project of @WUS@ workunits with two results each (test/bench/million): three apps, @FILES@ large files, @BATCHES@
-- batches, @HOSTS@ hosts of @USERS@ accounts. A workunit's id decides its state: the oldest 60 % are done and their
-- files deleted (20 % two months ago), 2 % are cancelled, 2 % failed, 0.5 % wait for the assimilator, 0.5 % for the
-- validator, 10 % are in progress, and the rest is unsent.
SET unique_checks = 0, foreign_key_checks = 0;
INSERT IGNORE INTO platform (id, create_time, name) VALUES (1, 1700000000, 'x86_64-pc-linux-gnu');
INSERT INTO app (id, create_time, name, user_friendly_name, locality_scheduling) VALUES
    (1, 1700000000, 'fold', 'Folding', 0), (2, 1700000000, 'search', 'Search', 1), (3, 1700000000, 'dock', 'Docking', 0);
INSERT INTO app_version (id, create_time, appid, version_num, platformid, xml_doc)
SELECT id, 1700000000, id, 100, 1, CONCAT('<app_version>\n    <app_name>', name, '</app_name>\n    <version_num>100</version_num>\n</app_version>\n')
FROM app;
INSERT INTO user (id, create_time, email_addr, name, authenticator, passwd_hash, cross_project_id, global_prefs, project_prefs, teamid)
SELECT seq, 1700000000, CONCAT('user', seq, '@example.org'), CONCAT('user', seq), LPAD(seq, 32, '0'), MD5(seq), MD5(seq + 0.5), '', '',
    IF(seq MOD 4 = 0, 1 + seq MOD 20, 0) FROM seq_1_to_@USERS@;
INSERT INTO team (id, create_time, userid, name, name_lc) SELECT seq, 1700000000, 4 * seq, CONCAT('team', seq), CONCAT('team', seq) FROM seq_1_to_20;
INSERT INTO host (id, create_time, userid, rpc_time, rpc_day, expavg_time, domain_name, last_ip_addr, on_frac, connected_frac, active_frac,
    gpu_active_frac, duration_correction_factor, p_ncpus, p_vendor, p_model, p_fpops, p_iops, p_membw, os_name, os_version, m_nbytes, m_cache,
    d_total, d_free, host_cpid)
SELECT seq, 1700000000, 1 + (seq - 1) MOD @USERS@, UNIX_TIMESTAMP() - seq, (UNIX_TIMESTAMP() - seq) DIV 86400, UNIX_TIMESTAMP(), CONCAT('vm', seq),
    CONCAT_WS('.', 10, seq DIV 65536, seq DIV 256 MOD 256, seq MOD 256), 1, -1, 1, 1, 1, 4, 'GenuineIntel', 'Intel(R) Xeon(R) Processor', 1e10,
    1e10, 1e9, 'Linux Debian', 'Debian GNU/Linux 12 (bookworm)', 25274793984, 110100480, 270553174016, 80422641664, MD5(seq) FROM seq_1_to_@HOSTS@;
INSERT INTO host_app_version (host_id, app_version_id, et_n, et_avg, max_jobs_per_day, consecutive_valid, turnaround_n, turnaround_avg)
SELECT h.id, v.id, 30, 1e-9, 100, 30, 30, 10000 FROM host h JOIN app_version v;
INSERT INTO file (id, name, md5sum, size, create_time)
SELECT seq, CONCAT('sky', LPAD(seq, 6, '0'), '.dat'), 'd41d8cd98f00b204e9800998ecf8427e', 0, 1700000000 FROM seq_1_to_@FILES@;
INSERT INTO fileset (id, name, appid, gen_parts, gen_next, create_time) SELECT id, name, 2, 1000, 1000, create_time FROM file;
INSERT INTO fileset_file (fileset_id, file_id) SELECT id, id FROM file;
INSERT INTO host_file (hostid, file_id, since) SELECT h.id, 1 + (h.id * 4 + k.seq) MOD @FILES@, UNIX_TIMESTAMP() - 86400 FROM host h JOIN seq_0_to_3 k;
INSERT INTO batch (id, user_id, create_time, njobs, state, name, app_id)
SELECT seq, 1, UNIX_TIMESTAMP() - 86400 * (1 + (@BATCHES@ - seq) * 60 DIV @BATCHES@), @WUS@ DIV @BATCHES@, 1, CONCAT('batch', LPAD(seq, 4, '0')),
    1 + seq MOD 3 FROM seq_1_to_@BATCHES@;

-- Kinds: 1 done long ago, 2 done, 3 cancelled, 4 failed, 5 to assimilate, 6 to validate, 7 in progress, 8 unsent.
INSERT INTO workunit (id, create_time, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, delay_bound,
    min_quorum, target_nresults, max_error_results, max_total_results, max_success_results, result_template_file, fileset_id, transition_time,
    transition_seq, canonical_resultid, canonical_credit, assimilate_state, file_delete_state, need_validate, error_mask, mod_time)
SELECT n.id, n.made, n.app, CONCAT('w', LPAD(n.id, 8, '0')), CONCAT('<workunit>\n<file_ref>\n    <file_name>sky', LPAD(n.file, 6, '0'),
    '.dat</file_name>\n    <open_name>in</open_name>\n</file_ref>\n<command_line>\n--from ', n.id, ' --harmonics 4\n</command_line>\n</workunit>\n'),
    n.batch, 1e12, 1e15, 5e7, 2e7, 864000, 2, 2, 5, 10, 6, CONCAT('templates/', n.app, '_out.xml'), n.file,
    IF(n.kind IN (7, 8), n.now + 864000, 9223372036854775807), 3, IF(n.kind IN (1, 2, 5), 2 * n.id - 1, 0), IF(n.kind IN (1, 2, 5), 10, 0),
    IF(n.kind <= 4, 2, n.kind = 5), IF(n.kind <= 4, 2, 0), n.kind = 6, IF(n.kind = 3, 16, n.kind = 4),
    FROM_UNIXTIME(IF(n.kind = 1, n.now - 5184000, n.now - n.id MOD 400000))
FROM (SELECT s.seq AS id, 1 + (s.seq - 1) DIV (@WUS@ DIV @BATCHES@) AS batch, 1 + (1 + (s.seq - 1) DIV (@WUS@ DIV @BATCHES@)) MOD 3 AS app,
	IF(1 + (1 + (s.seq - 1) DIV (@WUS@ DIV @BATCHES@)) MOD 3 = 2, 1 + s.seq MOD @FILES@, 0) AS file,
	1 + INTERVAL(s.seq, 0.20 * @WUS@ + 1, 0.60 * @WUS@ + 1, 0.62 * @WUS@ + 1, 0.64 * @WUS@ + 1, 0.645 * @WUS@ + 1, 0.65 * @WUS@ + 1, 0.75 * @WUS@ + 1) AS kind, UNIX_TIMESTAMP() AS now,
	UNIX_TIMESTAMP() - 86400 - CAST(5184000 * (1 - s.seq / @WUS@) AS SIGNED) AS made
    FROM seq_1_to_@WUS@ s) n ORDER BY n.id;
-- Of the workunits in progress, one result is with a host; the other one was a success, is with a host, or is unsent.
INSERT INTO result (id, create_time, workunitid, appid, name, server_state, xml_doc_in, random, fileset_id, batch, ready, hostid, userid, outcome,
    client_state, validate_state, sent_time, received_time, report_deadline, cpu_time, elapsed_time, granted_credit, app_version_id,
    app_version_num, flops_estimate, bytes_saved, file_delete_state, exit_status, failed_time, stderr_out, xml_doc_out)
SELECT n.id, n.create_time, n.wu, n.appid, n.name, n.state, CONCAT('<file_info>\n    <name>', n.name, '_r', n.luck, '_0</name>\n    <generated_locally/>\n',
    '    <upload_when_present/>\n    <max_nbytes>65536</max_nbytes>\n</file_info>\n<result>\n    <file_ref>\n        <file_name>', n.name, '_r', n.luck,
    '_0</file_name>\n        <open_name>out</open_name>\n    </file_ref>\n</result>\n'), n.luck, n.fileset_id, n.batch,
    IF(n.state <> 2, NULL, IF(n.fileset_id > 0, n.fileset_id, -(n.appid * 64 + n.wu MOD 64) - 1)), IF(n.sent, n.host, 0), IF(n.sent, 1 + (n.host - 1) MOD @USERS@, 0),
    IF(n.state <> 5, 0, ELT(n.kind, 1, 1, 5, 3, 1, 1, 1)), IF(n.state <> 5 OR n.kind = 3, 0, IF(n.kind = 4, 3, 5)), IF(n.kind IN (1, 2, 5), 1, IF(n.kind = 4, 2, 0)),
    IF(n.sent, n.create_time + 100, 0), IF(n.sent AND n.state = 5, n.create_time + 50000, 0), IF(n.sent, UNIX_TIMESTAMP() + 864000, 0),
    IF(n.sent AND n.state = 5, 990, 0), IF(n.sent AND n.state = 5, 1000, 0), IF(n.kind IN (1, 2, 5), 10, 0), IF(n.sent, n.appid, 0),
    IF(n.sent, 100, 0), IF(n.sent, 1e9, 0), IF(n.sent AND n.fileset_id > 0, 4000000, 0), IF(n.kind <= 4, 2, 0), IF(n.kind = 4, 1 + n.wu MOD 5, 0),
    IF(n.kind = 4, n.create_time + 50000, NULL), IF(n.sent AND n.state = 5, '<core_client_version>7.20.5</core_client_version>\n<stderr_txt>\ncalled boinc_finish(0)\n</stderr_txt>\n', NULL),
    IF(n.sent AND n.state = 5, CONCAT('<file_info>\n    <name>', n.name, '_r', n.luck, '_0</name>\n    <nbytes>4000</nbytes>\n</file_info>\n'), NULL)
FROM (SELECT m.*, m.state = 4 OR (m.state = 5 AND m.kind <> 3) AS sent FROM (SELECT 2 * w.id - 1 + k.seq AS id, w.id AS wu, w.appid, w.fileset_id, w.batch,
	w.create_time, CONCAT(w.name, '_', k.seq) AS name, CRC32(w.id * 2 + k.seq) DIV 2 AS luck, 1 + (w.id * 31 + k.seq) MOD @HOSTS@ AS host,
	w.kind, CASE WHEN w.kind <= 6 THEN 5 WHEN w.kind = 8 THEN 2 WHEN k.seq = 0 THEN 4 ELSE ELT(1 + w.id MOD 3, 2, 4, 5) END AS state
    FROM (SELECT w0.id, w0.appid, w0.fileset_id, w0.batch, w0.create_time, w0.name,
	1 + INTERVAL(w0.id, 0.20 * @WUS@ + 1, 0.60 * @WUS@ + 1, 0.62 * @WUS@ + 1, 0.64 * @WUS@ + 1, 0.645 * @WUS@ + 1, 0.65 * @WUS@ + 1, 0.75 * @WUS@ + 1) AS kind FROM workunit w0) w STRAIGHT_JOIN seq_0_to_1 k) m) n;
UPDATE host h JOIN (SELECT hostid, SUM(granted_credit) AS sum FROM result WHERE hostid > 0 GROUP BY hostid) s ON s.hostid = h.id SET h.total_credit = s.sum;
UPDATE user u JOIN (SELECT userid, SUM(total_credit) AS sum FROM host GROUP BY userid) s ON s.userid = u.id SET u.total_credit = s.sum;
INSERT INTO ledger (day, fileset_id, hostid, jobs, hits, bytes_needed, bytes_saved)
SELECT 0, fileset_id, 0, COUNT(*), COUNT(*), 0, SUM(bytes_saved) FROM result WHERE fileset_id > 0 AND sent_time > 0 GROUP BY fileset_id;
INSERT INTO ledger (day, fileset_id, hostid, jobs, hits, bytes_needed, bytes_saved)
SELECT 0, 0, hostid, COUNT(*), COUNT(*), 0, SUM(bytes_saved) FROM result WHERE fileset_id > 0 AND sent_time > 0 GROUP BY hostid;
