/** Clients notice nothing of a reroute where only the watch of the file notices the edit. */
import { fileReplacedByRename, fileSwappedBySymlink, fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { drillReroutes } from './reroute-drill.ts'

drillReroutes([
  ['made by writing the file in place', fileWrittenInPlace, 'watch', '{ poll: none }'],
  ['made by renaming another file over it', fileReplacedByRename, 'watch', '{ poll: none }'],
  ['made by swapping a symbolic link, as Kubernetes does', fileSwappedBySymlink, 'watch', '{ poll: none }'],
])
