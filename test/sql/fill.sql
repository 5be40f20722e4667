-- SPDX-License-Identifier: Apache-2.0
-- A project of 120,000 results, 60,000 workunits, 2,000 files, 1,000 hosts and 500 accounts.
-- Ids follow fixed rules, so that samples.def can name rows: file set f contains file f,
-- workunit w uses file set w mod 2000 + 1 (those over 50,000 use none), result r belongs to workunit
-- (r + 1) div 2; a sent result is on host r mod 1000 + 1; a host's account is host mod 500 + 1.
INSERT INTO app (id, name, create_time, locality_scheduling) VALUES (1, 'pulsar', 1, 1), (2, 'plain', 1, 0);
INSERT INTO platform (id, name) VALUES (1, 'x86_64-pc-linux-gnu'), (2, 'windows_x86_64');
INSERT INTO app_version (id, appid, version_num, platformid, xml_doc) SELECT seq, seq % 2 + 1, seq, seq % 3 DIV 2 + 1, '<file_info/>' FROM seq_1_to_8;
INSERT INTO user (id, email_addr, name, authenticator) SELECT seq, CONCAT('u', seq, '@example.org'), CONCAT('user ', seq), CONCAT('auth_', seq) FROM seq_1_to_500;
UPDATE user SET passwd_hash = 'md5', previous_email_addr = 'old71@example.org', email_addr_change_time = 1800000000 WHERE id = 71;
INSERT INTO team (id, userid, name) SELECT seq, seq, CONCAT('team_', seq) FROM seq_1_to_100;
INSERT INTO host (id, userid, domain_name, last_ip_addr, os_name, p_model, m_nbytes, host_cpid, rpc_time, rpc_day)
	SELECT seq, seq % 500 + 1, CONCAT('host', seq), '127.0.0.1', 'Linux', 'model', 1e9, CONCAT('cpid_', seq), 1700000000 + seq * 8640, (1700000000 + seq * 8640) DIV 86400 FROM seq_1_to_1000;
UPDATE host SET total_credit = 1, expavg_credit = 1, expavg_time = 100; UPDATE user SET total_credit = 1, expavg_credit = 1, expavg_time = 100; UPDATE team SET total_credit = 1, expavg_credit = 1, expavg_time = 100;
INSERT INTO host_app_version (host_id, app_version_id) SELECT h.seq, v.seq FROM seq_1_to_1000 h, seq_1_to_4 v;
INSERT INTO file (id, name, md5sum, size) SELECT seq, CONCAT('file_', seq), MD5(CONCAT(seq)), 4e6 FROM seq_1_to_2000;
INSERT INTO fileset (id, name, appid, gen_parts, remove_time) SELECT seq, CONCAT('file_', seq), 1, 40, IF(seq % 100 = 0, seq, 0) FROM seq_1_to_2000;
INSERT INTO fileset_file (fileset_id, file_id) SELECT seq, seq FROM seq_1_to_2000;
INSERT INTO fileset_source (fileset_id, generator, low_water) SELECT seq, 'bin/more {file} {n}', seq % 10 = 0 FROM seq_1_to_200;
INSERT INTO sched_trigger (fileset_id, need_work, no_work_available, work_available, working_set_removal, claim_time, claim_owner)
	SELECT seq, seq < 80 OR seq % 23 = 0, seq < 80 OR seq % 7 = 0, seq < 80 OR seq % 29 = 0, seq < 80 OR seq % 31 = 0, seq % 73 = 0, IF(seq % 73 = 0, 'host/name', '') FROM seq_1_to_1900;
INSERT INTO host_log (hostid, kind, create_time, log) SELECT h.seq, k.seq, 1, 'log' FROM seq_1_to_1000 h, seq_1_to_2 k;
INSERT INTO host_file (hostid, file_id, since) SELECT h.seq, (h.seq * 7 + f.seq * 311) % 2000 + 1, 1 FROM seq_1_to_1000 h, seq_1_to_5 f;
INSERT INTO workunit (id, appid, name, xml_doc, fileset_id, transition_time, need_validate, assimilate_state, canonical_resultid, file_delete_state, min_quorum, target_nresults)
	SELECT seq, IF(seq > 50000, 2, 1), CONCAT('file__', seq), REPEAT('w', 900), IF(seq > 50000, 0, seq % 2000 + 1),
	IF(seq % 97 = 0, 1000, IF(seq % 101 = 0, 2147483647, 9223372036854775807)), seq % 89 = 0, IF(seq % 83 = 0, 1, 2), IF(seq % 3 = 0, 0, seq * 2), IF(seq % 73 = 0, 2, 0), 2, IF(seq BETWEEN 3001 AND 3200, 1, 2) FROM seq_1_to_60000;
INSERT INTO result (id, create_time, workunitid, appid, name, xml_doc_in, xml_doc_out, stderr_out, server_state, outcome, validate_state, hostid, userid, sent_time, report_deadline, received_time, fileset_id, ready, once, file_delete_state)
	SELECT r.seq, 1000 + r.seq, w.id, w.appid, CONCAT(w.name, '_', r.seq % 2), REPEAT('i', 400), REPEAT('o', 300), REPEAT('e', 800),
	IF(r.seq * 37 % 101 < 70, 5, IF(r.seq * 37 % 101 < 80, 4, 2)), r.seq * 37 % 101 < 70, r.seq * 37 % 101 < 60,
	IF(r.seq * 37 % 101 < 80, r.seq % 1000 + 1, 0), IF(r.seq * 37 % 101 < 80, (r.seq % 1000 + 1) % 500 + 1, 0),
	2000, IF(r.seq * 37 % 101 < 80, 900000, 0), IF(r.seq * 37 % 101 < 70, 3000, 0), w.fileset_id,
	IF(r.seq * 37 % 101 < 80, NULL, IF(w.fileset_id > 0, w.fileset_id, -(w.appid * 64 + w.id % 64) - 1)),
	IF(r.seq * 37 % 101 < 80, (r.seq % 1000 + 1) % 500 + 1, NULL), IF(r.seq % 79 = 0, 1, 2)
	FROM seq_1_to_120000 r STRAIGHT_JOIN workunit w ON w.id = (r.seq + 1) DIV 2;
UPDATE result SET ready = -9223372036854775807, bytes_needed = 4e6 WHERE id > 90000 AND id % 7 = 0 AND ready IS NULL AND fileset_id > 0;
INSERT INTO ledger (day, fileset_id, hostid, jobs, hits, bytes_needed, bytes_saved)
	SELECT d.seq, (h.seq * 7 + f.seq * 311) % 2000 + 1, h.seq, 40, 39, 4e6, 39 * 4e6 FROM seq_20000_to_20009 d, seq_1_to_1000 h, seq_1_to_5 f;
INSERT INTO ledger (day, fileset_id, hostid, jobs) SELECT 0, seq, 0, 7 FROM seq_1_to_3000 UNION ALL SELECT 0, 0, seq, 7 FROM seq_1_to_2000;
INSERT INTO without_locality (day, shard, requests, jobs, bytes_needed, bytes_without) SELECT d.seq, s.seq, 9, 90, 4e6, 90 * 4e6 FROM seq_20000_to_20009 d, seq_0_to_15 s;
INSERT INTO msg_to_host (id, hostid, handled, xml) SELECT seq, seq % 1000 + 1, seq % 3 > 0, '<trickle_down>' FROM seq_1_to_6000;
INSERT INTO msg_from_host (id, create_time, hostid, handled, variety, xml) SELECT seq, seq, seq % 1000 + 1, seq % 3 > 0, 'v', 'x' FROM seq_1_to_6000;
INSERT INTO workunit_trouble (workunitid, stage) SELECT w.seq, IF(s.seq = 1, 'validator', 'assimilator') FROM seq_1_to_3000 w, seq_1_to_2 s;
INSERT INTO assignment (id, target_type, target_id, workunitid) SELECT seq, seq % 3 + 1, seq, 59000 + seq FROM seq_1_to_900;
INSERT INTO assignment (id, target_type, target_id, multi, workunitid) VALUES (901, 0, 0, 1, 59901);
UPDATE workunit SET transitioner_flags = 4 WHERE id BETWEEN 59001 AND 59900;
UPDATE result SET ready = -4611686018427387904 - workunitid WHERE ready IS NOT NULL AND workunitid BETWEEN 59001 AND 59901;
INSERT INTO batch (id, name, app_id, state, njobs) SELECT seq, CONCAT('batch_', seq), 1, IF(seq % 2 = 0, 0, 1), IF(seq % 2 = 0, 0, 30) FROM seq_1_to_1000;
UPDATE workunit SET batch = id % 1000 + 1 WHERE id <= 30000;
UPDATE workunit SET transition_time = 9223372036854775806 WHERE id BETWEEN 30001 AND 30600;
UPDATE workunit SET assimilate_state = 0, canonical_resultid = id * 2 WHERE id BETWEEN 30701 AND 30790;
INSERT INTO consent (userid, consent_type_id, consent_time) SELECT u.id, 1, 1 FROM user u WHERE u.id <= 500;
INSERT INTO token (token, userid, type, expire_time) SELECT CONCAT('token_', id), id, 'P', 2000000000 FROM user WHERE id <= 500;
INSERT INTO token (token, userid, type, expire_time) SELECT CONCAT('old_', id), id, 'M', 2147483647 FROM user WHERE id <= 500;
INSERT INTO work_tally (kind, id, code, part, wus) SELECT k.seq, i.seq, c.seq, 0, 5 FROM seq_1_to_4 k, seq_1_to_20 i, seq_1_to_9 c;
INSERT INTO team_delta (userid, teamid, timestamp) SELECT id, 1, 1 FROM user WHERE id <= 500;
INSERT INTO credit_user (userid, appid, credit_type) SELECT id, 1, 0 FROM user WHERE id <= 500;
INSERT INTO user_submit (user_id) SELECT id FROM user WHERE id <= 500;
INSERT INTO user_submit_app (user_id, app_id) SELECT id, 1 FROM user WHERE id <= 500;
INSERT INTO node (name) SELECT CONCAT('node_', id) FROM user WHERE id <= 100 UNION ALL SELECT 'sample';
INSERT INTO node_service (node, name) SELECT CONCAT('node_', id), 'transitioner' FROM user WHERE id <= 100 UNION ALL SELECT 'sample', 'sample';
INSERT INTO daemon_lease (name, token, seq) SELECT CONCAT('lease_', id), id, id FROM user WHERE id <= 100 UNION ALL SELECT 'sample', 71, 71;
INSERT INTO input_use (name, uses) SELECT CONCAT('input_', id), id % 100 FROM user WHERE id <= 2000;
REPLACE INTO project_state (id, drain_time) VALUES (1, 0);
ANALYZE TABLE app, assignment, app_version, batch, daemon_lease, file, fileset, fileset_file, fileset_source, host, host_app_version, host_file, host_log, input_use, ledger, msg_from_host, msg_to_host, node, node_service, platform, project_state, result, sched_trigger, team, user, without_locality, work_tally, workunit, workunit_trouble;
ANALYZE TABLE consent, credit_user, team_delta, token, user_submit, user_submit_app;
