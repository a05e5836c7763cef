export function writePlots() {}
