/** Copies text: a string cut out of a field or a target keeps all of it in memory, which may be a megabyte. */
export const copyText = (text: string): string => Buffer.from(text).toString()
