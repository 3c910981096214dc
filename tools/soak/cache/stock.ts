/**
 * Says what there is to ask for: many times what is stored at a time, of all sizes. Whatever is known of it follows
 * from its number.
 */
import { createHash } from 'node:crypto'

/** How many queries there are. With their variants, 148 KiB each on average, they come to 5 GiB. */
export const stockSize = 20_000

/** So many are asked for as often as all others together. */
export const popular = 200

export const languages = ['de', 'en', 'fr', 'it'] as const
export type Language = (typeof languages)[number]

/** One response that there is to ask for. */
export interface Item {
  readonly nth: number
  readonly language: Language
}

const least = 1024
const most = 1024 * 1024

/** Whether its response depends on the language that is asked for. */
export const varies = (nth: number): boolean => nth % 4 === 0

/** Whether it may be stored. */
export const isStorable = (nth: number): boolean => nth % 50 !== 1 && !isBroken(nth)

/** Whether its body breaks off in the middle. */
export const isBroken = (nth: number): boolean => nth % 50 === 2

/** Whether it comes without its length. */
export const isChunked = (nth: number): boolean => nth % 3 === 0

/** Whether it is stale after a second, and may then be served while it is fetched anew. */
export const isShortLived = (nth: number): boolean => nth % 5 === 3

/** Whether it is stale after a second, and has to be asked about before it is served again. */
export const isAskedAbout = (nth: number): boolean => nth % 5 === 4

/** Whether a conditional request for it gets 304 rather than the whole response. */
export const isStillValid = (nth: number): boolean => nth % 2 === 0

/** Returns how long its body is: as many are between 1 and 2 KiB as between 512 KiB and 1 MiB. */
export const bytesOf = ({ nth, language }: Item): number => {
  const said = varies(nth) ? `${nth} ${language}` : String(nth)
  const share = createHash('sha1').update(said).digest().readUInt32BE() / 2 ** 32
  return Math.floor(least * (most / least) ** share)
}

/** Lists all that can be stored. */
export const storable = (): readonly Item[] =>
  Array.from({ length: stockSize }, (_, nth) => nth)
    .filter(isStorable)
    .flatMap((nth) => (varies(nth) ? languages : languages.slice(0, 1)).map((language) => ({ nth, language })))

export const target = (nth: number): string => `/market/insights?nth=${nth}`

/** Reads which one a target means; NaN: none. */
export const nthOf = (url: string): number => Number(/[?&]nth=(\d+)/.exec(url)?.[1])
