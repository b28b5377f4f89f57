/** What to watch: printed into docs/metrics.md for people, and into deploy/prometheus/alerts.yaml for Prometheus. */
export interface AlertRule {
  readonly name: string
  /** In PromQL; true while something is wrong. */
  readonly expression: string
  /** How long it must last, as Prometheus writes it. */
  readonly lasts: string
  readonly severity: 'page' | 'ticket'
  /** What is wrong. */
  readonly summary: string
  /** What to do. */
  readonly next: string
}

export const ALERT_RULES: readonly AlertRule[] = [
  {
    name: 'NuncioDown',
    expression: 'up{job="nuncio"} == 0',
    lasts: '1m',
    severity: 'page',
    summary: 'A process of Nuncio does not answer.',
    next: 'Check whether it runs and what its log says last.',
  },
  {
    name: 'NuncioAlarm',
    expression: 'max by (kind) (nuncio_alarms_open{severity="critical"}) > 0',
    lasts: '0m',
    severity: 'page',
    summary: 'The watchdog has raised a critical alarm: its kind says about what.',
    next: '`nuncio attention` names the cause and the next step.',
  },
  {
    name: 'NuncioWarning',
    expression: 'max by (kind) (nuncio_alarms_open{severity="warning"}) > 0',
    lasts: '5m',
    severity: 'ticket',
    summary: 'The watchdog has raised an alarm: its kind says about what.',
    next: '`nuncio attention` names the cause and the next step.',
  },
  {
    name: 'NuncioWatchdogSilent',
    expression: 'increase(nuncio_watchdog_checks_total[5m]) == 0',
    lasts: '5m',
    severity: 'ticket',
    summary: 'The watchdog of a process no longer checks.',
    next: 'Usually the database cannot be reached: the log says so, under storage.unavailable.',
  },
  {
    name: 'NuncioRefusesForStorage',
    expression: 'sum(rate(nuncio_requests_total{outcome=~"not_accepted|commit_unknown"}[5m])) > 0',
    lasts: '1m',
    severity: 'page',
    summary: 'Requests are answered with 503, because messages cannot be stored.',
    next: 'Usually the disk is full, or the database is away: the log says which, under storage.unavailable.',
  },
  {
    name: 'NuncioStorageUnavailable',
    expression: 'max(nuncio_storage_unavailable) > 0',
    lasts: '1m',
    severity: 'page',
    summary: 'A process can write nothing: its disk is full, or the database is away.',
    next: 'Nothing is lost: accepting answers 503 and lanes wait. `nuncio attention` says why: make room on the disk, or repair the database.',
  },
  {
    name: 'NuncioFault',
    expression: 'sum(increase(nuncio_events_total{event="fault"}[15m])) > 0',
    lasts: '0m',
    severity: 'ticket',
    summary: 'Something happened that should not.',
    next: 'Search the log for `fault`, and report it.',
  },
  {
    name: 'NuncioBacklogGrows',
    expression: 'max(nuncio_messages_waiting) > 1000 and delta(max(nuncio_messages_waiting)[30m:1m]) > 0',
    lasts: '30m',
    severity: 'ticket',
    summary: 'More and more messages wait.',
    next: 'A lane stands still, or more comes in than may go out: `nuncio connection list` says which and why.',
  },
  {
    name: 'NuncioNothingGoesOut',
    expression:
      'max(nuncio_messages_waiting) > 0 and sum(rate(nuncio_attempts_total[15m])) == 0 and sum(nuncio_lanes{status=~"pace|rate_limited"}) == 0',
    lasts: '15m',
    severity: 'page',
    summary: 'Messages wait, and nothing was attempted for a quarter of an hour.',
    next: '`nuncio connection list` says which lanes stand still and why.',
  },
  {
    name: 'NuncioLimitReached',
    expression: 'sum(rate(nuncio_requests_total{status="429"}[5m])) > 0',
    lasts: '10m',
    severity: 'ticket',
    summary: 'Callers are turned away, because a limit is reached.',
    next: 'The outcome of nuncio_requests_total says which: a rate, or how many may wait.',
  },
  {
    name: 'NuncioUnknownOutcomes',
    expression: 'sum(increase(nuncio_attempts_total{outcome="unknown"}[15m])) > 0',
    lasts: '0m',
    severity: 'ticket',
    summary: 'Attempts ended with an unknown result: their messages may become UNCONFIRMED.',
    next: 'nuncio message list --state UNCONFIRMED',
  },
  {
    name: 'NuncioAttemptsRejected',
    expression:
      'sum by (channel) (rate(nuncio_attempts_total{outcome="rejected"}[15m])) > 0.5 * sum by (channel) (rate(nuncio_attempts_total[15m]))',
    lasts: '15m',
    severity: 'ticket',
    summary: 'More than half of the attempts by a channel are rejected.',
    next: '`nuncio message list --state FAILED` shows their reasons.',
  },
  {
    name: 'NuncioCallbacksForged',
    expression: 'sum(rate(nuncio_callbacks_total{outcome=~"forged|app-unknown"}[5m])) > 0',
    lasts: '10m',
    severity: 'ticket',
    summary: 'Callbacks come that cannot be proven.',
    next: 'The app secret was changed at the network, or someone sends forged callbacks.',
  },
  {
    name: 'NuncioCallbacksNotStored',
    expression: 'sum(increase(nuncio_callbacks_total{outcome="not-stored"}[15m])) > 0',
    lasts: '0m',
    severity: 'page',
    summary: 'Callbacks could not be stored.',
    next: 'The disk, or the key ring. The network comes again for days, and then no more.',
  },
  {
    name: 'NuncioCallbacksSlow',
    expression: 'histogram_quantile(0.99, sum by (le) (rate(nuncio_callback_duration_seconds_bucket[10m]))) > 0.25',
    lasts: '10m',
    severity: 'ticket',
    summary: 'Callbacks are answered slowly: networks find us slow, and hold back.',
    next: 'Check the time of a commit and the event loop lag.',
  },
  {
    name: 'NuncioCommitsSlow',
    expression: 'histogram_quantile(0.99, sum by (le) (rate(nuncio_commit_duration_seconds_bucket[10m]))) > 0.1',
    lasts: '10m',
    severity: 'ticket',
    summary: 'Commits take long, and everything waits for them.',
    next: 'The disk is slow or shared: `iostat -x 1` on the machine of the database.',
  },
  {
    name: 'NuncioEventLoopSlow',
    expression: 'max(nodejs_eventloop_lag_p99_seconds) > 0.2',
    lasts: '10m',
    severity: 'ticket',
    summary: 'A process has more to do than it can.',
    next: 'On PostgreSQL: more processes (NUNCIO_PROCESSES) or machines.',
  },
  {
    name: 'NuncioUnderPressure',
    expression: 'sum(rate(nuncio_connections_dropped_total[5m])) + sum(rate(nuncio_refusals_not_logged_total[5m])) > 0',
    lasts: '5m',
    severity: 'ticket',
    summary: 'Connections are turned away, or refusals can no longer be logged.',
    next: 'Pressure, or an attack: see where the connections come from.',
  },
  {
    name: 'NuncioSpansDropped',
    expression: 'sum(rate(nuncio_trace_spans_total{result=~"dropped|refused"}[5m])) > 0',
    lasts: '15m',
    severity: 'ticket',
    summary: 'Spans of traces are lost; messages are not touched by that.',
    next: 'The collector is away or too slow.',
  },
]
