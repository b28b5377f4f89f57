// Longer than any wait between two tries. A later try was planned before the clock was set back.
export const LONGEST_AHEAD_MS = 86_400_000

/** For `DeliveryWatch`: a few index lookups, and two where there never was a webhook. `now` is the engine's expression. */
export const POLL_DELIVERIES = (now: string): string => `
  select case when exists (select 1 from webhook) or exists (select 1 from notice) then 1 else 0 end as listened,
    case when exists (select 1 from notice where is_new = 1) or exists (
      select 1 from webhook w where w.state = 'enabled' and (exists (
        select 1 from delivery d where d.account_id = w.account_id and d.webhook_id = w.id
          and d.state = 'waiting' and d.next_try_at <= ${now})
      or exists (
        select 1 from delivery d where d.account_id = w.account_id and d.webhook_id = w.id
          and d.state = 'waiting' and d.next_try_at > ${now} + ${LONGEST_AHEAD_MS}))) then 1 else 0 end as due`
