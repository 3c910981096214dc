/** That nobody notices a reroute where the watch of the file alone tells the gateway of the edit. */
import { inPlace, renamed, swapped } from '../helpers/ways.ts'
import { nobodyNotices } from './drill.ts'

nobodyNotices([
  ['made by writing the file in place', inPlace, 'watch', '{ poll: none }'],
  ['made by renaming another file over it', renamed, 'watch', '{ poll: none }'],
  ['made by swapping a symbolic link, as Kubernetes does', swapped, 'watch', '{ poll: none }'],
])
