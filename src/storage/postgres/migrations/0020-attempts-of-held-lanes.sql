-- Why: to open an attempt on an idle lane took a lock of the lane, a new row, and its end: now a lane that is held has a row for its
-- attempts, and one update says both that the claim is still there and that nothing else is open.
-- Locks: `lane` and `open_attempt`, for a moment: what is being claimed comes first. `open_attempt` goes on as a view of what is open, so
-- machines since 0018 work on meanwhile. Older ones must have been upgraded: how they wrote steps ends here.
-- breaking: no

lock table lane, open_attempt in access exclusive mode;

alter table open_attempt rename to lane_attempt;
alter index open_attempt_pkey rename to lane_attempt_pkey;
alter table lane_attempt alter column message_sequence drop not null, alter column number drop not null, alter column started_at drop not null;

create view open_attempt as
  select connection_id, account_id, message_sequence, number, epoch, started_at, crashes, evidence_until, words, doubted_sequence
    from lane_attempt where message_sequence is not null;

insert into lane_attempt (connection_id, account_id, epoch)
  select connection_id, account_id, epoch from lane where owner is not null
  on conflict (connection_id) do nothing;

drop function if exists record_step, record_steps;
-- include functions/holds-lane.sql
-- include functions/claim-lanes.sql
-- include functions/write-step.sql
-- include functions/write-steps.sql
