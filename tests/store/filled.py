"""What a database of each version before the latest held, in the words of that version's schema. Whoever adds a migration adds the
version before it here, once, and never changes it again.
"""

# fmt: off
FILLED: dict[int, tuple[str, ...]] = {
    0: (),
    1: (
        'INSERT INTO "jobs" VALUES(1,\'acme/calc\',7,\'{"number":7,"title":"add() subtracts","body":"`add(2, 2)` is 0.","author":"alice","labels":[],"comments":[]}\',\'evaluating\',1,\'minion/issue-7\',\'main\',\'default\',\'implement\',\'2026-03-02T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\',\'2026-03-16T09:00:00+00:00\',\'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\',\'cccccccccccccccccccccccccccccccccccccccc\',NULL,NULL,NULL,NULL,NULL,\'claim\',0,0,0,\'\',0,NULL,NULL,NULL,\'\');',
        'INSERT INTO "sessions" VALUES(\'j1-work-1\',1,\'work\',\'prepared\',\'{"version": 1, "session_id": "j1-work-1", "kind": "work", "role": "minion", "repository": "acme/calc", "base_branch": "main", "base_sha": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "branch": "minion/issue-7", "head_sha": "cccccccccccccccccccccccccccccccccccccccc", "issue": {"number": 7, "title": "add() subtracts", "body": "`add(2, 2)` is 0.", "author": "alice", "labels": [], "comments": []}, "scope": {"mode": "unrestricted", "patterns": []}, "scope_reasons": [], "limits": {"turns": 50, "time_s": 1800, "tool_errors": 3, "command_s": 120, "output_chars": 20000, "context_tokens": 120000, "questions": 3, "question_wait_s": 600}, "model": "default", "findings": [], "answers": [], "messages": [], "tried": [], "guidance": "", "named_files": [], "knowledge": "", "skills": [], "steps": [], "setup": null, "traced": false}\',\'{"mode": "unrestricted", "patterns": []}\',\'minion/issue-7\',100000,NULL,NULL,1800,\'2026-03-02T09:00:00+00:00\',NULL,NULL,NULL,NULL,NULL,0,\'\',\'{"outcome":"complete","reason":"","summary":"done","replies":[],"learnings":[],"follow_ups":[],"head":null,"turns":0}\',NULL,\'[]\',\'\',\'\',\'\',0);',
        'INSERT INTO "exchanges" VALUES(1,\'j1-work-1\',1,\'acme/calc\',\'2026-03-02\',\'2026-03-02T09:00:00+00:00\',\'m\',70,0,1,200,50,0,10,NULL,\'2026-03-02T09:00:01+00:00\');',
        'INSERT INTO "evaluations" VALUES(1,1,\'cccccccccccccccccccccccccccccccccccccccc\',0,\'2026-03-02T09:00:00+00:00\',\'[{"name":"tests","score":"pass","summary":"2 passed","findings":[],"evidence":[],"subject":""}]\',\'\',0);',
        'INSERT INTO "decisions" VALUES(1,1,\'\',NULL,NULL,\'blocker\',\'blocked\',\'what now?\',\'> Which of the two?\',\'["retry","take_over","drop"]\',\'this job\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'open\',NULL,\'\',\'\',NULL,0);',
        'INSERT INTO "evidence" VALUES(1,1,\'j1-work-1\',\'log\',\'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\',3,\'2026-03-02T09:00:00+00:00\',NULL);',
        'INSERT INTO "ledger" VALUES(1,\'2026-03-02T09:00:00+00:00\',1,\'claimed\',\'overlord\',\'{"branch": "minion/issue-7", "contract": "default", "issue": "acme/calc#7", "title": "add() subtracts"}\',\'0000000000000000000000000000000000000000000000000000000000000000\',\'20384e01d31710d572daf48ae590132eb5755c8b9c61f613a5a11f2a45c728a3\');',
        'INSERT INTO "ledger" VALUES(2,\'2026-03-02T09:00:00+00:00\',1,\'session_started\',\'overlord\',\'{"head": "cccccccccccccccccccccccccccccccccccccccc", "session": "j1-work-1"}\',\'20384e01d31710d572daf48ae590132eb5755c8b9c61f613a5a11f2a45c728a3\',\'8b6330d35fd76fd040835ee2aa2a36a7c108b08ccf5dc5f647ebc095863955a0\');',
        'INSERT INTO "ledger" VALUES(3,\'2026-03-02T09:00:00+00:00\',1,\'work_submitted\',\'overlord\',\'{"head": "cccccccccccccccccccccccccccccccccccccccc", "session": "j1-work-1"}\',\'8b6330d35fd76fd040835ee2aa2a36a7c108b08ccf5dc5f647ebc095863955a0\',\'d25cc87608367f5d3649abad25fe09ce2f5b8f4e1d28334cb93064e987bc14e5\');',
        'INSERT INTO "ledger" VALUES(4,\'2026-03-02T09:00:00+00:00\',1,\'session_prepared\',\'overlord\',\'{"branch": "minion/issue-7", "kind": "work", "scope": "{\\"mode\\": \\"unrestricted\\", \\"patterns\\": []}", "session": "j1-work-1"}\',\'d25cc87608367f5d3649abad25fe09ce2f5b8f4e1d28334cb93064e987bc14e5\',\'6433bf15ed406078f2a0dbda34069148766ab9d8546c33effe26726cccbe32cf\');',
        'INSERT INTO "ledger" VALUES(5,\'2026-03-02T09:00:00+00:00\',1,\'check_completed\',\'overlord\',\'{"check": "tests", "evidence": [], "head": "cccccccccccccccccccccccccccccccccccccccc", "score": "pass", "summary": "2 passed"}\',\'6433bf15ed406078f2a0dbda34069148766ab9d8546c33effe26726cccbe32cf\',\'db82e7938e8ec8ad389306fabc8d3f7ec8f2a647ab59b96e0fc641d9d7d2b7ae\');',
        'INSERT INTO "ledger" VALUES(6,\'2026-03-02T09:00:00+00:00\',1,\'decision_raised\',\'overlord\',\'{"decision": 1, "digest": "e73d570c49dea3ed", "kind": "blocker", "subject": "blocked", "title": "what now?"}\',\'db82e7938e8ec8ad389306fabc8d3f7ec8f2a647ab59b96e0fc641d9d7d2b7ae\',\'b08525626124919a1714846cbf403761a763222765d880967e356d29c369d63e\');',
        'INSERT INTO "comment_requests" VALUES(\'acme/calc\',7,3,\'alice\',\'Do.\');',
        'INSERT INTO "environments" VALUES(\'0123456789abcdef0123\',\'acme/calc\',\'ready\',\'python:3.12\',\'["gcc"]\',\'j1-work-1\',\'2026-03-02T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\',5,\'\');',
        'INSERT INTO "grants" VALUES(1,1,\'scope\',\'["docs/**"]\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',NULL,NULL);',
        'INSERT INTO "hearings" VALUES(\'acme/calc\',1,1,\'alice\',\'2026-03-02T09:00:00+00:00\',\'\',\'\',0);',
        'INSERT INTO "refusals" VALUES(\'acme/calc\',2,\'2026-03-02T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\',\'a stranger\'\'s\',1);',
        'INSERT INTO "spaces" VALUES(\'acme/calc\',0,\'\',\'2026-03-02T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\',NULL,NULL);',
        'INSERT INTO "untested_policies" VALUES(\'acme/calc\',\'write_tests\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\');',
    ),
}
FILLED[2] = (
    *FILLED[1],
    'INSERT INTO "proposals" VALUES(1,\'acme/calc\',\'a\',\'failure\',\'workflow_improvement\',\'Keep “lint” from coming back\',\'Seen.\',\'Find out why.\',\'E501\',\'\',\'medium\',\'low\',3,4,\'[1]\',\'[7]\',\'2026-03-02T09:00:00+00:00\',\'pending\',\'\',NULL,\'\',\'\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "proposals" VALUES(2,\'acme/calc\',\'b\',\'failure\',\'workflow_improvement\',\'Keep “lint” from coming back\',\'Seen.\',\'Find out why.\',\'E501\',\'\',\'medium\',\'low\',3,4,\'[1]\',\'[7]\',\'2026-03-02T09:00:00+00:00\',\'approved\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'good idea\',\'k\',NULL,9,NULL,\'its issue was closed\');',
    'INSERT INTO "proposals" VALUES(3,\'acme/calc\',\'c\',\'failure\',\'workflow_improvement\',\'Keep “lint” from coming back\',\'Seen.\',\'Find out why.\',\'E501\',\'\',\'medium\',\'low\',3,4,\'[1]\',\'[7]\',\'2026-03-02T09:00:00+00:00\',\'rejected\',\'slack:U1\',\'2026-03-02T09:00:00+00:00\',\'\',\'k\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "drafts" VALUES(1,\'acme/calc\',\'new\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'waiting\',NULL,\'because\',\'say-why\',\'.nebulus/skills/say-why.yaml\',\'name: say-why\n\',\'\',\'[]\',\'\',\'\',\'\',\'\',NULL,\'\',\'\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "drafts" VALUES(2,\'acme/calc\',\'new\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'waiting\',NULL,\'because\',\'say-why\',\'.nebulus/skills/say-why.yaml\',\'name: say-why\n\',\'\',\'[{"rule":"long","level":"reject","line":3,"message":"too long"}]\',\'\',\'\',\'\',\'\',NULL,\'\',\'\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "drafts" VALUES(3,\'acme/calc\',\'new\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'checking\',NULL,\'because\',\'say-why\',\'.nebulus/skills/say-why.yaml\',\'name: say-why\n\',\'\',\'[]\',\'\',\'\',\'\',\'\',NULL,\'\',\'\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "drafts" VALUES(4,\'acme/calc\',\'new\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'rejected\',NULL,\'because\',\'say-why\',\'.nebulus/skills/say-why.yaml\',\'name: say-why\n\',\'\',\'[]\',\'\',\'\',\'\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'no\',\'\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "drafts" VALUES(5,\'acme/calc\',\'new\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'in_review\',NULL,\'because\',\'say-why\',\'.nebulus/skills/say-why.yaml\',\'name: say-why\n\',\'\',\'[]\',\'\',\'\',\'\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',\'\',\'\',NULL,NULL,NULL,\'\');',
    'INSERT INTO "messages" VALUES(1,\'proposal\',1,0,\'C1\',NULL,\'1.1\',\'2026-03-02T09:00:00+00:00\',\'\',\'\',0,0);',
    'INSERT INTO "messages" VALUES(2,\'draft\',1,0,\'C1\',NULL,\'1.2\',\'2026-03-02T09:00:00+00:00\',\'\',\'\',0,0);',
    'INSERT INTO "messages" VALUES(3,\'job\',1,0,\'C1\',NULL,\'1.3\',\'2026-03-02T09:00:00+00:00\',\'\',\'\',0,0);',
    'INSERT INTO "buttons" VALUES(\'n1\',1,NULL,\'approve\',\'\',\'x\');',
    'INSERT INTO "buttons" VALUES(\'n2\',2,NULL,\'reject\',\'\',\'y\');',
    'INSERT INTO "buttons" VALUES(\'n3\',3,NULL,\'stop\',\'\',\'\');',
)
FILLED[3] = (
    *(row for row in FILLED[2] if not row.startswith(('INSERT INTO "decisions"', 'INSERT INTO "buttons"'))),
    'INSERT INTO "decisions" VALUES(1,1,\'\',NULL,NULL,\'blocker\',\'blocked\',\'what now?\',\'> Which of the two?\',\'["retry","take_over","drop"]\',\'this job\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'open\',NULL,\'\',\'\',NULL,0,\'writer\',NULL,NULL,\'\');',
    'INSERT INTO "decisions" VALUES(2,NULL,\'acme/calc\',NULL,NULL,\'proposal\',\'proposal\',\'Keep “lint” from coming back\',\'Find out why.\',\'["approve","reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'open\',NULL,\'\',\'\',NULL,0,\'approver\',1,NULL,\'1bfa2bdb0ddf6a76\');',
    'INSERT INTO "decisions" VALUES(3,NULL,\'acme/calc\',NULL,NULL,\'proposal\',\'resting_proposal\',\'Keep “lint” from coming back\',\'Find out why.\',\'["approve"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'open\',NULL,\'\',\'\',NULL,0,\'approver\',2,NULL,\'9dd1ca31c440e4ba\');',
    'INSERT INTO "decisions" VALUES(4,NULL,\'acme/calc\',NULL,NULL,\'proposal\',\'proposal\',\'Keep “lint” from coming back\',\'Find out why.\',\'["approve","reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'answered\',\'reject\',\'Reject\',\'slack:U1\',\'2026-03-02T09:00:00+00:00\',1,\'approver\',3,NULL,\'2852b7b5b163e71f\');',
    'INSERT INTO "decisions" VALUES(5,NULL,\'acme/calc\',NULL,NULL,\'draft\',\'skill_draft\',\'Add the skill “say-why”\',\'because\',\'["approve","reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'open\',NULL,\'\',\'\',NULL,0,\'approver\',NULL,1,\'b33db1c616d30264\');',
    'INSERT INTO "decisions" VALUES(6,NULL,\'acme/calc\',NULL,NULL,\'draft\',\'skill_draft\',\'Add the skill “say-why”\',\'because\',\'["reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'open\',NULL,\'\',\'\',NULL,0,\'approver\',NULL,2,\'b840fd1af8f5cd2c\');',
    'INSERT INTO "decisions" VALUES(7,NULL,\'acme/calc\',NULL,NULL,\'draft\',\'skill_draft\',\'Add the skill “say-why”\',\'because\',\'["reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'draft\',NULL,\'\',\'\',NULL,0,\'approver\',NULL,3,\'ef953cbe6a13acf8\');',
    'INSERT INTO "decisions" VALUES(8,NULL,\'acme/calc\',NULL,NULL,\'draft\',\'skill_draft\',\'Add the skill “say-why”\',\'because\',\'["approve","reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'answered\',\'reject\',\'no\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',1,\'approver\',NULL,4,\'1eb6b528b2211034\');',
    'INSERT INTO "decisions" VALUES(9,NULL,\'acme/calc\',NULL,NULL,\'draft\',\'skill_draft\',\'Add the skill “say-why”\',\'because\',\'["approve","reject"]\',\'\',\'2026-03-02T09:00:00+00:00\',NULL,\'[]\',\'[]\',NULL,\'answered\',\'approve\',\'Approve\',\'cli:alice\',\'2026-03-02T09:00:00+00:00\',1,\'approver\',NULL,5,\'ccc8f3c797f5e54f\');',
    'INSERT INTO "buttons" VALUES(\'n1\',1,2,\'approve\',\'\',\'x\');',
    'INSERT INTO "buttons" VALUES(\'n2\',2,5,\'reject\',\'\',\'y\');',
    'INSERT INTO "buttons" VALUES(\'n3\',3,NULL,\'stop\',\'\',\'\');',
)
FILLED[4] = (
    *FILLED[3],
    'INSERT INTO "access_tokens" VALUES(1,\'ci\',\'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\',\'act\',\'["acme/calc"]\',\'2026-03-02T09:00:00+00:00\',\'cli:alice\',NULL,NULL,NULL);',
    'INSERT INTO "browser_sessions" VALUES(\'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\',1,\'web:ci\',\'2026-03-02T09:00:00+00:00\',\'2026-03-09T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\');',
    'INSERT INTO "browser_sessions" VALUES(\'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\',NULL,\'web:alice@local\',\'2026-03-02T09:00:00+00:00\',\'2026-03-09T09:00:00+00:00\',\'2026-03-02T09:00:00+00:00\');',
)
FILLED[5] = (
    *(row for row in FILLED[4] if not row.startswith('INSERT INTO "browser_sessions"')),
    "INSERT INTO \"browser_sessions\" VALUES('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',1,'web:ci','2026-03-02T09:00:00+00:00','2026-03-09T09:00:00+00:00','2026-03-02T09:00:00+00:00',NULL,'[]',NULL,'');",
    "INSERT INTO \"api_replies\" VALUES('web:ci','k1','0123','{}','2026-03-02T09:00:00+00:00');",
    "INSERT INTO \"seen_decisions\" VALUES('web:ci',1,'1bfa2bdb0ddf6a76','2026-03-02T09:00:00+00:00','',NULL);",
)
FILLED[6] = (
    *(
        row.replace(");", ",'minion',NULL,'',0);") if row.startswith('INSERT INTO "jobs"') else row
        for row in FILLED[5]
    ),
    "INSERT INTO \"job_contracts\" VALUES(1,'contract: plan-first','name: x','d',1,'2026-03-02T09:00:00+00:00','d');",
    "INSERT INTO \"plan_files\" VALUES(1,'plan/plan.md','# Approach','j1-work-1','2026-03-02T09:00:00+00:00');",
    "INSERT INTO \"role_notes\" VALUES(1,1,'plan','architect','guidance','Small steps.','j1-work-1','2026-03-02T09:00:00+00:00');",
)
FILLED[7] = (
    *FILLED[6],
    "INSERT INTO \"issue_requests\" VALUES(1,'acme/calc','init','Set up','What: a calculator','k','{}','cli:alice','2026-03-02T09:00:00+00:00',NULL,7,'',NULL,NULL,0);",
    "INSERT INTO \"discoveries\" VALUES(1,'{}','2026-03-02T09:00:00+00:00');",
    "INSERT INTO \"contract_drafts\" VALUES(1,'contract: plan-first','[]',1,'2026-03-02T09:00:00+00:00');",
)
FILLED[8] = tuple(
    row.replace(");", ",'native','');")
    if row.startswith('INSERT INTO "sessions"')
    else row.replace(");", ",0);")
    if row.startswith('INSERT INTO "exchanges"')
    else row
    for row in FILLED[7]
)
FILLED[9] = (
    *(
        row.replace(");", ",'');") if row.startswith('INSERT INTO "decisions"') else row for row in FILLED[8]
    ),
    "INSERT INTO \"initiatives\" (id, space, slug, title, goal, source, key, state, priority, actor, created_at, updated_at) VALUES(1,'acme/calc','sums','Sums','Add numbers','person','k','open','normal','cli:alice','2026-03-02T09:00:00+00:00','2026-03-02T09:00:00+00:00');",
    "INSERT INTO \"notes\" (id, space, kind, text, question, state, source, actor, created_at, updated_at) VALUES(1,'acme/calc','decision','Use Redis.','','active','{}','cli:alice','2026-03-02T09:00:00+00:00','2026-03-02T09:00:00+00:00');",
)
