import { commandPartLoaders } from '../built-in-command.ts'

const loaded = await Promise.all((await commandPartLoaders.load()).map(({ loadStatusTexts }) => loadStatusTexts?.()))

/** What `status` prints of features, in the order of their list. */
export const statusTexts = loaded.flatMap((each) => each?.texts ?? [])

export const statusGroupRows = loaded.flatMap((each) => each?.groupRows ?? [])

export const statusFacts = loaded.flatMap((each) => each?.facts ?? [])
