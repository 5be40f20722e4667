-- SPDX-License-Identifier: Apache-2.0
-- A project without locality: @WUS@ workunits with two unsent results each.
INSERT INTO workunit (id, create_time, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
    delay_bound, min_quorum, target_nresults, max_error_results, max_total_results, max_success_results, result_template_file,
    transition_time, transition_seq)
SELECT seq, UNIX_TIMESTAMP() - 86400, 1, CONCAT('p', LPAD(seq, 7, '0')), CONCAT('<workunit>
<command_line>
--from ', seq, ' --harmonics 4
</command_line>
</workunit>
'), 1e12, 1e15, 5e7, 2e7, 864000, 2, 2, 5, 10, 6, 'templates/search_out.xml', UNIX_TIMESTAMP() + 864000, 1 FROM seq_1_to_@WUS@;
INSERT INTO result (id, create_time, workunitid, appid, name, server_state, xml_doc_in, random, ready)
SELECT n.id, UNIX_TIMESTAMP() - 86400, n.wu, 1, n.name, 2, CONCAT('<file_info>
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
'), n.luck, -(64 + n.wu MOD 64) - 1
FROM (SELECT 2 * w.id - 1 + k.seq AS id, w.id AS wu, CONCAT(w.name, '_', k.seq) AS name, CRC32(w.id * 2 + k.seq) DIV 2 AS luck
    FROM workunit w STRAIGHT_JOIN seq_0_to_1 k) n ORDER BY n.id;
