-- SPDX-License-Identifier: Apache-2.0
-- Host and result of everything that was ever sent, to compare with the hosts' logs.
SELECT SUBSTRING_INDEX(user.email_addr, '@', 1), result.name
FROM result JOIN user ON user.id = result.userid WHERE result.sent_time > 0
