import { type ArgumentMetadata, BadRequestException, type PipeTransform } from '@nestjs/common';

/** A parameter that is present, given once, and not empty. */
export class TextPipe implements PipeTransform<unknown, string> {
  transform(value: unknown, { data: name = '' }: ArgumentMetadata): string {
    if (typeof value === 'string' && value !== '') return value;
    throw refused(name, value, 'one text that is not empty');
  }
}

/** A parameter that is an integer from 1 to `most`. */
export class IntegerPipe implements PipeTransform<unknown, number> {
  constructor(
    private readonly most: number,
    private readonly ifAbsent?: number,
  ) {}

  transform(value: unknown, { data: name = '' }: ArgumentMetadata): number {
    if (value === undefined && this.ifAbsent !== undefined) return this.ifAbsent;
    return integer(name, value, this.most);
  }
}

export function integer(name: string, value: unknown, most: number): number {
  // Digits alone, because Number() also takes '1e3', '0x10', ' 5 ' and ''.
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : NaN;
  if (number >= 1 && number <= most) return number;
  throw refused(name, value, `an integer from 1 to ${most}`);
}

function refused(name: string, value: unknown, accepted: string): BadRequestException {
  const problem = value === undefined ? 'is missing' : `${shown(value)} is not accepted`;
  return new BadRequestException(`${name}: ${problem}; use ${accepted}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
