/** Reads pages of the documentation: sections, tables, and headings as GitHub links to them. */

/** Returns the text under a heading, down to the next one of any depth. */
export const section = (text: string, heading: string): string => {
  const [, under = ''] = text.split(new RegExp(`^#+ ${heading}.*$`, 'm'))
  return under.split(/^#+ /m)[0] ?? ''
}

/** Reads the rows of the tables in a text: cells as written. */
export const rows = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[-:| ]+\|$/.test(line))
    .map((line) => line.slice(1, -1).split('|'))
    .map((cells) => cells.map((cell) => cell.trim()))

export const withoutCode = (text: string): string => text.replaceAll(/^ *```.*?^ *```$/gms, '')

/** Lists the anchors of a page: its headings, as GitHub writes them. */
export const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const [, title = ''] of withoutCode(text).matchAll(/^#{1,6} +(.*?) *$/gm)) {
    const anchor = title
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    let number = 0
    while (anchors.has(number === 0 ? anchor : `${anchor}-${number}`)) number++
    anchors.add(number === 0 ? anchor : `${anchor}-${number}`)
  }
  return anchors
}
