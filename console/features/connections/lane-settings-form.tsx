import { Autocomplete, Fieldset, Paper, Radio, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core'
import { z } from 'zod'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { isTimeZone, LANE_LIMITS, TIME_OF_DAY } from '../../../src/contract/console/form-rules.ts'
import type { LaneSettings } from '../../../src/contract/console/lane-settings.ts'
import { formatDuration, parseDurationMs } from '../../../src/format/durations.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { useFormOf } from '../../components/form.ts'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showToast } from '../../components/toast.ts'
import { gapEffect } from './connection-labels.ts'
import { SaveBar } from './save-bar.tsx'

const laneForm = z
  .object({
    leastGap: durationField(LANE_LIMITS.leastGapMs),
    gapJitter: durationField(LANE_LIMITS.gapJitterMs),
    timeToLive: durationField(LANE_LIMITS.timeToLiveMs),
    confirmBacklogAfter: durationField(LANE_LIMITS.confirmBacklogAfterMs),
    onUnconfirmed: z.enum(['leave', 'resend']),
    isQuiet: z.boolean(),
    quietFrom: z.string(),
    quietTo: z.string(),
    timeZone: z.string(),
  })
  .superRefine(({ isQuiet, quietFrom, quietTo, timeZone }, context) => {
    if (!isQuiet) return
    const wrong = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    if (!TIME_OF_DAY.test(quietFrom)) wrong('quietFrom', 'Choose a time of day.')
    if (!TIME_OF_DAY.test(quietTo)) wrong('quietTo', 'Choose a time of day.')
    else if (quietFrom === quietTo) wrong('quietTo', 'They must end at another time than they begin.')
    if (!isTimeZone(timeZone)) wrong('timeZone', 'Write a time zone such as Europe/Berlin, or UTC.')
  })
type LaneForm = z.output<typeof laneForm>

const LABELS: Readonly<Record<keyof LaneForm, string>> = {
  leastGap: 'Least gap',
  gapJitter: 'Jitter',
  timeToLive: 'Time to live',
  confirmBacklogAfter: 'Confirm a backlog after',
  onUnconfirmed: 'When it is unknown',
  isQuiet: 'Quiet hours',
  quietFrom: 'Quiet from',
  quietTo: 'Quiet until',
  timeZone: 'Time zone',
}

export function LaneSettingsForm({ connection }: { readonly connection: ConnectionView }) {
  const { id: account, can } = useAccount()
  const change = useApiMutation('changeLane')
  const form = useFormOf(laneForm, toForm(connection.lane))
  const submit = form.onSubmit((values) => {
    change.mutateAsync({ params: { account, id: connection.id }, body: toSettings(values) }).then((changed) => {
      form.setInitialValues(toForm(changed.lane))
      form.reset()
      showToast('Saved. It holds at once, also for what waits already.')
    }, form.takeProblem)
  })
  return (
    <Paper withBorder p="lg" maw={860}>
      <form noValidate onSubmit={submit}>
        <Fieldset variant="unstyled" disabled={!can('developer')}>
          <Stack gap="lg">
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <TextInput
                label="Least gap"
                description="Least time between two messages, such as 2s; 0s for none."
                {...form.getInputProps('leastGap')}
              />
              <TextInput
                label="Jitter"
                description="Up to this much is added to the gap at random."
                {...form.getInputProps('gapJitter')}
              />
              <TextInput
                label="Time to live"
                description="How long a message may wait before it expires."
                {...form.getInputProps('timeToLive')}
              />
              <TextInput
                label="Confirm a backlog after"
                description="After a longer standstill a person confirms; 0s for never."
                {...form.getInputProps('confirmBacklogAfter')}
              />
            </SimpleGrid>
            <Effect form={form} />
            <UnconfirmedField form={form} />
            <QuietFields form={form} />
            {form.problem ? <ProblemNote problem={form.problem} title="The settings were not saved" /> : null}
            {can('developer') ? (
              <SaveBar
                label="Save lane settings"
                changed={Object.entries(LABELS).flatMap(([field, label]) => (form.isDirty(field) ? [label] : []))}
                isSaving={change.isPending}
                onDiscard={form.reset}
              />
            ) : (
              <Text size="sm" c="dimmed">
                Developers and owners can change these.
              </Text>
            )}
          </Stack>
        </Fieldset>
      </form>
    </Paper>
  )
}

interface Bound {
  readonly form: ReturnType<typeof useFormOf<typeof laneForm>>
}

/** What the gap comes to, while it is typed. */
function Effect({ form: { values } }: Bound) {
  const effect = gapEffect(parseDurationMs(values.leastGap), parseDurationMs(values.gapJitter))
  return (
    <Text size="sm" c="dimmed" mt={-12} role="status">
      {effect ?? 'As fast as the network allows.'}
    </Text>
  )
}

function UnconfirmedField({ form }: Bound) {
  return (
    <Radio.Group
      label="When it is unknown whether a message arrived"
      description="The line can break after a message was handed over. No setting avoids both risks."
      {...form.getInputProps('onUnconfirmed')}
    >
      <Stack gap="xs" mt="xs">
        <Radio
          value="leave"
          label="Leave it unconfirmed"
          description="It may be lost, and is never sent twice. A person decides."
        />
        <Radio
          value="resend"
          label="Send it once more"
          description="It is not lost, and the recipient may get it twice."
        />
      </Stack>
    </Radio.Group>
  )
}

function QuietFields({ form }: Bound) {
  return (
    <>
      <Switch
        label="Quiet hours"
        description="Times of day at which nothing is sent. What is accepted waits, and may expire."
        {...form.getInputProps('isQuiet', { type: 'checkbox' })}
      />
      {form.values.isQuiet ? (
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TextInput type="time" label="Quiet from" {...form.getInputProps('quietFrom')} />
          <TextInput type="time" label="Quiet until" {...form.getInputProps('quietTo')} />
          <Autocomplete
            label="By the clock of"
            data={Intl.supportedValuesOf('timeZone')}
            limit={20}
            autoComplete="off"
            {...form.getInputProps('timeZone')}
          />
        </SimpleGrid>
      ) : null}
    </>
  )
}

function toForm({ quietHours, ...lane }: LaneSettings): LaneForm {
  return {
    leastGap: formatDuration(lane.leastGapMs),
    gapJitter: formatDuration(lane.gapJitterMs),
    timeToLive: formatDuration(lane.timeToLiveMs),
    confirmBacklogAfter: formatDuration(lane.confirmBacklogAfterMs),
    onUnconfirmed: lane.onUnconfirmed,
    isQuiet: quietHours !== null,
    quietFrom: quietHours?.from ?? '22:00',
    quietTo: quietHours?.to ?? '07:00',
    timeZone: quietHours?.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
}

function toSettings(form: LaneForm): LaneSettings {
  const { isQuiet, quietFrom, quietTo, timeZone } = form
  return {
    leastGapMs: parseDurationMs(form.leastGap) ?? 0,
    gapJitterMs: parseDurationMs(form.gapJitter) ?? 0,
    timeToLiveMs: parseDurationMs(form.timeToLive) ?? 0,
    confirmBacklogAfterMs: parseDurationMs(form.confirmBacklogAfter) ?? 0,
    onUnconfirmed: form.onUnconfirmed,
    quietHours: isQuiet ? { from: quietFrom, to: quietTo, timeZone } : null,
  }
}

/** A field for a duration within these limits. */
function durationField({ least, most }: { readonly least: number; readonly most: number }) {
  const sentence = `Write a time from ${formatDuration(least)} to ${formatDuration(most)}, such as 500ms, 30s, 15m or 24h.`
  return z.string().refine((text) => {
    const ms = parseDurationMs(text)
    return ms !== null && ms >= least && ms <= most
  }, sentence)
}
