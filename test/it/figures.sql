-- SPDX-License-Identifier: Apache-2.0
-- The figures of a project for ./demo and the scenarios, seen without any program of ours.
SELECT CONCAT(
  'made=', (SELECT COUNT(*) FROM workunit),
  ' valid=', (SELECT COUNT(*) FROM workunit WHERE canonical_resultid > 0),
  ' assimilated=', (SELECT COUNT(*) FROM workunit WHERE assimilate_state = 2),
  ' sent=', COUNT(*),
  ' bytes_needed=', COALESCE(SUM(bytes_needed), 0),
  ' bytes_saved=', COALESCE(SUM(bytes_saved), 0))
FROM result WHERE sent_time > 0
