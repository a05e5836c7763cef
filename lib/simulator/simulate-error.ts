/** What stops a simulation, in one line for whoever started it. */
export class SimulateError extends Error {
  override readonly name = 'SimulateError';

  static unreadable(file: string, cause: unknown): SimulateError {
    return new SimulateError(`${file}: cannot be read (${reasonOf(cause)})`, { cause });
  }

  static unwritable(file: string, cause: unknown): SimulateError {
    return new SimulateError(`${file}: cannot be written (${reasonOf(cause)})`, { cause });
  }

  static nothingOfUse(file: string, lines: number, line: number, problem: string): SimulateError {
    return new SimulateError(`${file}: none of ${lines} lines is of use; line ${line}: ${problem}`);
  }
}

/** Node's text ends with the call and the path, which is said already. */
function reasonOf(cause: unknown): string {
  return (cause as Error).message.replace(/, \w+( '.*')?$/, '');
}
