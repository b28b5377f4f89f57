import type { Scheme } from '../../site/build/diagrams.ts'

interface Colours {
  readonly box: string
  readonly border: string
  readonly text: string
  readonly line: string
  readonly page: string
  readonly group: string
  readonly note: string
}

const COLOURS: Readonly<Record<Scheme, Colours>> = {
  light: {
    box: '#e3edfb',
    border: '#3b6fb6',
    text: '#1c2027',
    line: '#525b69',
    page: '#ffffff',
    group: '#f5f6f8',
    note: '#fff3d6',
  },
  dark: {
    box: '#21344f',
    border: '#82b6ff',
    text: '#e4e7ec',
    line: '#a7afbc',
    page: '#14171c',
    group: '#1d2128',
    note: '#3d3010',
  },
}

/** Mermaid's settings for the pictures of our pages. */
export function themeOf(scheme: Scheme): object {
  const { box, border, text, line, page, group, note } = COLOURS[scheme]
  return {
    startOnLoad: false,
    theme: 'base',
    look: 'classic',
    // HTML in a picture is not shown everywhere, so text stays text.
    htmlLabels: false,
    flowchart: { htmlLabels: false, padding: 12, wrappingWidth: 220, rankSpacing: 36 },
    state: { htmlLabels: false },
    sequence: { useMaxWidth: false, mirrorActors: false },
    themeVariables: {
      useGradient: false,
      darkMode: scheme === 'dark',
      fontFamily: 'system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif',
      fontSize: '15px',
      background: page,
      ...{ primaryColor: box, primaryBorderColor: border, primaryTextColor: text },
      ...{ secondaryColor: group, tertiaryColor: group, clusterBkg: group, clusterBorder: line },
      ...{ lineColor: line, textColor: text, titleColor: text, edgeLabelBackground: page },
      ...{ noteBkgColor: note, noteTextColor: text, noteBorderColor: line },
      ...{ actorBkg: box, actorBorder: border, actorTextColor: text, actorLineColor: line, signalColor: line },
      ...{ signalTextColor: text, labelBoxBkgColor: group, labelTextColor: text, loopTextColor: text },
      ...{
        activationBkgColor: group,
        activationBorderColor: border,
        transitionLabelColor: text,
        stateLabelColor: text,
      },
    },
  }
}
