-- SPDX-License-Identifier: Apache-2.0
-- The rows on which test_daemons makes each pass of passes.def: workunits that no daemon is to handle, 1 and 2 of app
-- sort with a quorum of two, 3 of sort and 4 of fold with a quorum of one, whose results are all unsent; each pass
-- first changes some. Result WR is the R-th of workunit W, its output o_WR, the input of W is in_W.
SET @now = UNIX_TIMESTAMP();
REPLACE INTO project_state (id) VALUES (1);
INSERT INTO app (id, name, create_time, locality_scheduling) VALUES (1, 'sort', 1, 1), (2, 'fold', 1, 0);
INSERT INTO platform (id, name, user_friendly_name) VALUES (1, 'x86_64-pc-linux-gnu', 'Linux');
INSERT INTO app_version (id, appid, version_num, platformid, xml_doc) VALUES (1, 1, 100, 1, ''), (2, 2, 100, 1, '');
INSERT INTO team (id, userid, name, expavg_time) VALUES (1, 1, 'Team One', @now);
INSERT INTO user (id, create_time, email_addr, name, authenticator, teamid, expavg_time) VALUES (1, 1, 'ada', 'Ada', 'key1', 1, @now), (2, 1, 'bob', 'Bob', 'key2', 0, @now);
INSERT INTO host (id, create_time, userid, rpc_time, rpc_day, domain_name, p_fpops, expavg_time) VALUES (1, 1, 1, @now, @now DIV 86400, 'one', 1e9, @now), (2, 1, 1, @now, @now DIV 86400, 'two', 1e9, @now), (3, 1, 2, @now, @now DIV 86400, 'three', 1e9, @now);
INSERT INTO file (id, name, md5sum, size, create_time) VALUES (1, 'alpha.dat', 'c4ca4238a0b923820dcc509a6f75849b', 1000, 1), (2, 'beta.dat', 'c81e728d9d4c2f636f067f89cc14862c', 2000, 2), (3, 'gamma.dat', 'eccbc87e4b5ce2fe28308fd9f2a7baf3', 3000, 3);
INSERT INTO fileset (id, name, appid, gen_parts, create_time) VALUES (1, 'alpha.dat', 1, 10, 1), (2, 'beta.dat', 1, 3, 2), (3, 'gamma.dat', 1, 10, 3);
INSERT INTO fileset_file (fileset_id, file_id) SELECT id, id FROM file;
INSERT INTO workunit (id, name, appid, fileset_id, min_quorum, target_nresults) VALUES (1, 'a_1', 1, 1, 2, 2), (2, 'a_2', 1, 1, 2, 2), (3, 'b_3', 1, 2, 1, 1), (4, 'c_4', 2, 0, 1, 1);
UPDATE workunit SET create_time = 1, max_error_results = 1, max_total_results = 4, max_success_results = 3, transition_time = 9223372036854775807, delay_bound = 1000, result_template_file = 'templates/out.xml', rsc_fpops_est = 432e10, priority = 5, batch = id + 10,
	xml_doc = CONCAT('<file_info><name>in_', id, '</name><url>http://p.example/in</url><md5_cksum>0cc175b9c0f1b6a831c399e269772661</md5_cksum><nbytes>1</nbytes></file_info>', IF(fileset_id > 0, '<file_info><name>alpha.dat</name><sticky/><no_delete/><report_on_rpc/></file_info>', ''), '<workunit><file_ref><file_name>in_', id, '</file_name><open_name>in</open_name></file_ref></workunit>');
INSERT INTO result (id, server_state, workunitid, name, appid, fileset_id, ready, create_time, batch) SELECT w.id * 10 + n.n, 2, w.id, CONCAT(w.name, '_', n.n - 1), appid, fileset_id, IF(fileset_id > 0, fileset_id, -100), 1, batch FROM workunit w JOIN (SELECT 1 n UNION SELECT 2) n ON n.n <= w.min_quorum;
UPDATE result SET xml_doc_out = '', stderr_out = '', xml_doc_in = CONCAT('<file_info><name>o_', id, '</name><generated_locally/><upload_when_present/><max_nbytes>1000</max_nbytes><url>http://p.example/up</url></file_info><result><name>', name, '</name><file_ref><file_name>o_', id, '</file_name><open_name>out</open_name></file_ref></result>')
