-- SPDX-License-Identifier: Apache-2.0
-- A project with locality: @FILES@ files of @PARTS@ workunits with two results each, which is all that the generator and
-- the transitioner can make of them. Files up to @NEW@ have no sent result; files up to @HALF@ have half of their
-- workunits finished, files up to @OVER@ all; the remaining files have no sent result. One additional last file has
-- @HOT@ workunits, for all hosts at once.
-- Finished work was done by @DOERS@ hosts, the first of which is @DONE_BY@.
INSERT INTO file (id, name, md5sum, size, create_time)
SELECT seq, CONCAT('f', LPAD(seq, 6, '0'), '.dat'), '@MD5@', @SIZE@, 1700000000 FROM seq_1_to_@ALL_FILES@;
INSERT INTO fileset (id, name, appid, gen_parts, gen_next, create_time)
SELECT id, name, 1, IF(id > @FILES@, @HOT@, @PARTS@), IF(id > @FILES@, @HOT@, @PARTS@), create_time FROM file;
INSERT INTO fileset_file (fileset_id, file_id) SELECT id, id FROM file;

INSERT INTO workunit (id, create_time, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
    delay_bound, min_quorum, target_nresults, max_error_results, max_total_results, max_success_results, result_template_file,
    fileset_id, transition_time, transition_seq, canonical_resultid, canonical_credit, assimilate_state, file_delete_state)
SELECT n.id, UNIX_TIMESTAMP() - 86400, 1, CONCAT(f.name, '__', IF(n.part < 10000, LPAD(n.part, 4, '0'), n.part)), CONCAT('<file_info>
    <sticky/>
    <no_delete/>
    <report_on_rpc/>
    <name>', f.name, '</name>
    <url>http://127.0.0.1/bench/download/', f.name, '</url>
    <md5_cksum>', f.md5sum, '</md5_cksum>
    <nbytes>@SIZE@</nbytes>
</file_info>
<workunit>
<file_ref>
    <file_name>', f.name, '</file_name>
    <open_name>in</open_name>
</file_ref>
<command_line>
--from ', n.part * 400, ' --to ', n.part * 400 + 400, ' --harmonics 4
</command_line>
</workunit>
'), 1e12, 1e15, 5e7, 2e7, 864000, 2, 2, 5, 10, 6, 'templates/search_out.xml', f.id, UNIX_TIMESTAMP() + 864000, IF(n.done, 4, 1),
    IF(n.done, 2 * n.id - 1, 0), IF(n.done, 10, 0), IF(n.done, 2, 0), IF(n.done, 2, 0)
FROM (SELECT s.seq AS id, (s.seq - 1) DIV @PARTS@ + 1 AS file, (s.seq - 1) MOD @PARTS@ AS part,
	(s.seq - 1) DIV @PARTS@ + 1 BETWEEN @HALF@ + 1 AND @OVER@ OR ((s.seq - 1) DIV @PARTS@ + 1 BETWEEN @NEW@ + 1 AND @HALF@
	AND (s.seq - 1) MOD @PARTS@ < @PARTS@ DIV 2) AS done
    FROM seq_1_to_@WUS@ s
    UNION ALL SELECT @WUS@ + s.seq, @ALL_FILES@, s.seq - 1, 0 FROM seq_1_to_@HOT@ s) n
STRAIGHT_JOIN file f ON f.id = n.file ORDER BY n.id;

INSERT INTO result (id, create_time, workunitid, appid, name, server_state, xml_doc_in, random, fileset_id, ready, hostid, userid,
    outcome, client_state, validate_state, sent_time, received_time, report_deadline, cpu_time, elapsed_time, granted_credit,
    app_version_id, app_version_num, flops_estimate, once, bytes_saved, file_delete_state, stderr_out, xml_doc_out)
SELECT n.id, UNIX_TIMESTAMP() - 86400, n.wu, 1, n.name, IF(n.done, 5, 2), CONCAT('<file_info>
    <name>', n.name, '_r', n.luck, '_0</name>
    <generated_locally/>
    <upload_when_present/>
    <max_nbytes>65536</max_nbytes>
    <url>http://127.0.0.1/bench_cgi/file_upload_handler</url>
<xml_signature>
200f97d15f62be74ca2fa5bed51536df51bf8b90c7db5f1d033f8669359120e8
eccaa8a5160e80c47768c2a10e8a1957407743751a4878269085215ec3ac66ee
a47445e3357a02b4ca74a34e8fa7c1f460fca3b57cc9558541636387defc33c0
3c2a8c1665afca41e1aa2f428829ffc44cfbb1f7499856fc6b3f9b0424e8b638
.
</xml_signature>
</file_info>
<result>
    <file_ref>
        <file_name>', n.name, '_r', n.luck, '_0</file_name>
        <open_name>out</open_name>
        <copy_file/>
    </file_ref>
    <report_immediately/>
</result>
'), n.luck, n.fileset_id, IF(n.done, NULL, n.fileset_id), IF(n.done, n.host, 0), IF(n.done, n.host, 0),
    IF(n.done, 1, 0), IF(n.done, 5, 0), IF(n.done, 1, 0), IF(n.done, UNIX_TIMESTAMP() - 50000, 0), IF(n.done, UNIX_TIMESTAMP() - 40000, 0),
    IF(n.done, UNIX_TIMESTAMP() + 814000, 0), IF(n.done, 990, 0), IF(n.done, 1000, 0), IF(n.done, 10, 0), IF(n.done, 1, 0),
    IF(n.done, 100, 0), IF(n.done, 1e9, 0), IF(n.done, n.host, NULL), IF(n.done, @SIZE@, 0), IF(n.done, 2, 0),
    IF(n.done, '<core_client_version>7.20.5</core_client_version>
<![CDATA[
<stderr_txt>
start
23:48:47 (21520): called boinc_finish(0)

</stderr_txt>
]]>
', NULL), IF(n.done, CONCAT('<file_info>
    <name>', n.name, '_r', n.luck, '_0</name>
    <nbytes>4000.000000</nbytes>
    <max_nbytes>65536.000000</max_nbytes>
    <md5_cksum>2cad20c19a8eb9bb11a9f76527aec9bc</md5_cksum>
    <upload_url>http://127.0.0.1/bench_cgi/file_upload_handler</upload_url>
</file_info>
'), NULL)
FROM (SELECT 2 * w.id - 1 + k.seq AS id, w.id AS wu, w.fileset_id, CONCAT(w.name, '_', k.seq) AS name, w.canonical_resultid > 0 AS done,
	CRC32(w.id * 2 + k.seq) DIV 2 AS luck, @DONE_BY@ + (w.id * 2 + k.seq) MOD @DOERS@ AS host
    FROM workunit w STRAIGHT_JOIN seq_0_to_1 k) n ORDER BY n.id;
INSERT INTO ledger (day, fileset_id, hostid, jobs, hits, bytes_needed, bytes_saved)
SELECT sent_time DIV 86400, fileset_id, hostid, COUNT(*), COUNT(*), SUM(bytes_needed), SUM(bytes_saved) FROM result
WHERE sent_time > 0 GROUP BY 1, 2, 3;
INSERT INTO host_app_version (host_id, app_version_id, et_n, et_avg, max_jobs_per_day, consecutive_valid, turnaround_n, turnaround_avg)
SELECT @DONE_BY@ + seq - 1, 1, 30, 1e-9, 100, 30, 30, 10000 FROM seq_1_to_@DOERS@;
UPDATE host h JOIN (SELECT hostid, SUM(granted_credit) AS sum FROM result WHERE hostid > 0 GROUP BY hostid) s ON s.hostid = h.id SET h.total_credit = s.sum;
UPDATE user u JOIN (SELECT userid, SUM(total_credit) AS sum FROM host GROUP BY userid) s ON s.userid = u.id SET u.total_credit = s.sum;
