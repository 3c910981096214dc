import { onlyOne } from '../lib/part-loaders.ts'
import type { FindClients } from './admin-context.ts'
import { adminPartLoaders } from './admin-part.ts'

export const adminParts = await adminPartLoaders.load()

const allOnPrimary: FindClients = () => ({ primary: 'all', others: 'none' })

export const findClients: FindClients = onlyOne(adminParts, (part) => part.findClients) ?? allOnPrimary
