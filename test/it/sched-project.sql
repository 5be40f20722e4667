-- SPDX-License-Identifier: Apache-2.0
-- A small project for tests of the scheduler: one app, three large files, twelve workunits with two results each on the
-- first two of them; the third has none yet. sched_project prints it with the version of the schema.
INSERT INTO user (id, create_time, email_addr, name, authenticator, passwd_hash, cross_project_id)
VALUES (1, 1700000000, 'user@example.com', 'user', '4e6a693a6cc6322e6b1fccefd7dee8f3', 'd5dd0ffd15176f3dccf96e5c697fe3be', '929127fc8a3dbdd47561337fcf78fa96');
INSERT INTO platform (id, create_time, name) VALUES (1, 1, 'x86_64-pc-linux-gnu'), (2, 1, 'anonymous');
INSERT INTO app (id, create_time, name, user_friendly_name) VALUES (1, 1, 'search', 'Search');
INSERT INTO app_version (id, create_time, appid, version_num, platformid, xml_doc)
VALUES (1, 1, 1, 100, 1, '<file_info>
    <name>search_100</name>
    <url>http://127.0.0.1/stars/download/search_100</url>
    <executable/>
    <file_signature>
0
.
    </file_signature>
    <nbytes>1000</nbytes>
</file_info>
<app_version>
    <app_name>search</app_name>
    <version_num>100</version_num>
    <file_ref>
        <file_name>search_100</file_name>
        <main_program/>
    </file_ref>
</app_version>
');
INSERT INTO file (id, name, md5sum, size, create_time) VALUES (1, 'F1', 'x', 1000000, 1), (2, 'F2', 'x', 1000000, 1), (3, 'F3', 'x', 1000000, 1);
INSERT INTO fileset (id, name, appid, create_time) VALUES (1, 'F1', 1, 1), (2, 'F2', 1, 1), (3, 'F3', 1, 1);
INSERT INTO fileset_file (fileset_id, file_id) VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO workunit (id, create_time, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound,
    rsc_disk_bound, delay_bound, min_quorum, target_nresults, fileset_id, transition_time)
SELECT f.id * 10 + s.seq, 1, 1, concat(f.name, '__', f.id * 10 + s.seq), concat('<file_info>
    <name>', f.name, '</name>
    <url>http://127.0.0.1/stars/download/', f.name, '</url>
    <md5_cksum>d41d8cd98f00b204e9800998ecf8427e</md5_cksum>
    <nbytes>1000000</nbytes>
    <sticky/>
</file_info>
<workunit>
    <command_line>', s.seq, '</command_line>
    <file_ref>
        <file_name>', f.name, '</file_name>
        <open_name>in</open_name>
    </file_ref>
</workunit>
'), 1e12, 1e14, 1e7, 1e7, 86400, 2, 2, f.id, 9223372036854775807
FROM fileset f, seq_1_to_6 s WHERE f.id <= 2;
INSERT INTO result (create_time, workunitid, appid, name, server_state, xml_doc_in, fileset_id, ready)
SELECT 1, w.id, 1, concat(w.name, '_', n.seq), 2, concat('<file_info>
    <name>', w.name, '_', n.seq, '_r1_0</name>
    <generated_locally/>
    <upload_when_present/>
    <max_nbytes>10000</max_nbytes>
    <url>http://127.0.0.1/stars_cgi/file_upload_handler</url>
</file_info>
<result>
    <file_ref>
        <file_name>', w.name, '_', n.seq, '_r1_0</file_name>
        <open_name>out</open_name>
    </file_ref>
</result>
'), w.fileset_id, w.fileset_id
FROM workunit w, seq_0_to_1 n ORDER BY w.id, n.seq;
